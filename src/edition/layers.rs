//! Reads an edition file and the editions that it is based on, and merges them. Every value keeps its place in its file.
//!
//! With `base = "mcc-2018"` the settings of that edition count unless the file sets them. Tables are merged key by key.
//! Lists and the tables of `REPLACED` replace those of the base, because the tools and models of two years differ.

use super::builtin::{builtin, is_path};
use super::error::{EditionError, Fault};
use mcc_base::suggest::at_line;
use mcc_base::text::line_of_byte;
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Limit for the length of a chain of bases: twice that of svcomp-2026. A longer chain is probably a cycle.
const MAX_LAYERS: usize = 32;

/// Limit for the size of a file in bytes: more than 100 times that of the largest edition.
const MAX_FILE_BYTES: usize = 1 << 20;

/// Tables that replace those of the base as a whole.
const REPLACED: [&str; 3] = ["variants", "suffix_tools", "family_factors"];

/// Top-level keys that earlier versions named differently: old name, present name.
const OLD_KEYS: [(&str, &str); 1] = [("patience", "timeout_factor")];

/// The file, then its base, then the base of that, and so on.
pub(super) struct Layers {
    layers: Vec<Layer>,
}

struct Layer {
    /// Its name in errors.
    file: String,
    /// The offset of its text in the texts of all layers, so that a place determines the layer.
    start: usize,
    /// `start` blanks followed by the text, so that parsed values have their places in the texts of all layers.
    text: String,
}

impl Layers {
    /// Reads the bases of an edition file with this text.
    pub fn read(text: &str, file: &str) -> Result<Self, EditionError> {
        let mut layers = Self { layers: Vec::new() };
        layers.push(text, file)?;
        while let Some((base, place)) = layers.base_of_last()? {
            let refused = |message: String| layers.content(place, "base", message);
            if layers.layers.len() == MAX_LAYERS {
                return Err(refused(format!(
                    "more than {MAX_LAYERS} editions are based on one another; check that none of them is its own base"
                )));
            }
            let (text, file) = if is_path(&base) {
                let folder = Path::new(&layers.last().file).parent().unwrap_or(Path::new(""));
                let path = folder.join(&base);
                let text = mcc_base::text::read(&path)
                    .map_err(|error| refused(format!("cannot read {}: {error}", path.display())))?;
                (text, path.display().to_string())
            } else {
                let (text, file) = builtin(&base).map_err(|unknown| refused(unknown.to_string()))?;
                (text.to_owned(), file)
            };
            layers.push(&text, &file)?;
        }
        Ok(layers)
    }

    fn push(&mut self, text: &str, file: &str) -> Result<(), EditionError> {
        let file = file.to_owned();
        if text.len() > MAX_FILE_BYTES {
            let message =
                format!("the file is larger than {MAX_FILE_BYTES} bytes; check that it is the right file");
            return Err(EditionError::Syntax { file, line: 1, message });
        }
        let start = self.layers.last().map_or(0, |last| last.text.len() + 1);
        self.layers.push(Layer { file, start, text: " ".repeat(start) + text });
        Ok(())
    }

    fn last(&self) -> &Layer {
        self.layers.last().expect("the file itself is a layer")
    }

    /// The base of the last layer, and its place.
    fn base_of_last(&self) -> Result<Option<(String, usize)>, EditionError> {
        let table = self.parsed(self.last())?;
        let Some(base) = table.get_ref().get("base") else { return Ok(None) };
        let place = base.span().start;
        match base.get_ref() {
            DeValue::String(name) => Ok(Some((name.to_string(), place))),
            _ => Err(self.content(place, "base", "must be the name or the path of an edition".to_owned())),
        }
    }

    /// A layer as a table, with the present names of its keys.
    fn parsed<'l>(&self, layer: &'l Layer) -> Result<Spanned<DeTable<'l>>, EditionError> {
        let mut table = DeTable::parse(&layer.text).map_err(|error| self.syntax(&error))?;
        rename_old_keys(table.get_mut());
        Ok(table)
    }

    /// All layers as one table, without `base`.
    pub fn table(&self) -> Result<Spanned<DeTable<'_>>, EditionError> {
        let mut layers = self.layers.iter().rev();
        let mut whole = self.parsed(layers.next().expect("the file itself is a layer"))?;
        for layer in layers {
            let over = self.parsed(layer)?;
            let span = over.span();
            let mut under = whole.into_inner();
            drop_set_unknowns(&mut under, over.get_ref());
            overlay(&mut under, over.into_inner());
            whole = Spanned::new(span, under);
        }
        whole.get_mut().remove("base");
        Ok(whole)
    }

    /// The merged table as a value of a type, without checks of its content.
    pub fn typed<T: DeserializeOwned>(&self) -> Result<T, EditionError> {
        T::deserialize(toml::Deserializer::from(self.table()?)).map_err(|error| self.syntax(&error))
    }

    /// The edition with checked content.
    pub fn checked<T: DeserializeOwned>(
        &self,
        check: impl Fn(&T) -> Result<(), Fault>,
    ) -> Result<T, EditionError> {
        let edition: T = self.typed()?;
        match check(&edition) {
            Ok(()) => Ok(edition),
            Err((key, message)) => Err(self.content(self.place_of(&key), &key.join("."), message)),
        }
    }

    /// An error of TOML or of a key's type, in one line and without its drawing: the line of the file, what is wrong and
    /// what is allowed.
    fn syntax(&self, error: &toml::de::Error) -> EditionError {
        let (layer, line) = self.located(error.span().map_or(0, |span| span.start));
        let message = at_line(&layer.text, line, &error.message().replace('\n', ", "));
        EditionError::Syntax { file: layer.file.clone(), line, message }
    }

    /// An error in the content of the key at `place`.
    pub fn content(&self, place: usize, key: &str, message: String) -> EditionError {
        let (layer, line) = self.located(place);
        EditionError::Content { file: layer.file.clone(), line, key: key.to_owned(), message }
    }

    /// The place of the value of a key; 0 if it cannot be found.
    pub fn place_of(&self, key: &[String]) -> usize {
        let Ok(table) = self.table() else { return 0 };
        let mut found = key.first().and_then(|part| table.get_ref().get(part.as_str()));
        let mut place = 0;
        let mut rest = key.iter().skip(1);
        while let Some(value) = found {
            place = value.span().start;
            let Some(part) = rest.next() else { break };
            found = match value.get_ref() {
                DeValue::Table(table) => table.get(part.as_str()),
                DeValue::Array(array) => part.parse().ok().and_then(|index: usize| array.get(index)),
                _ => None,
            };
        }
        place
    }

    /// The layer of a place, and its line there, from 1.
    fn located(&self, place: usize) -> (&Layer, usize) {
        let layer = self.layers.iter().rev().find(|layer| layer.start <= place).unwrap_or(self.last());
        (layer, line_of_byte(layer.text.as_bytes(), place))
    }
}

/// Merges `over` into `under`; its values replace those of `under`.
fn overlay<'i>(under: &mut DeTable<'i>, over: DeTable<'i>) {
    for (key, mut value) in over {
        let name = key.get_ref().to_string();
        if let DeValue::Table(table) = value.get_mut()
            && !REPLACED.contains(&name.as_str())
            && let Some(DeValue::Table(below)) = under.get_mut(name.as_str()).map(Spanned::get_mut)
        {
            overlay(below, std::mem::take(table));
            continue;
        }
        under.remove(name.as_str());
        under.insert(key, value);
    }
}

/// Gives keys with an old name their present name. A table with both names keeps both, which serde rejects.
fn rename_old_keys(table: &mut DeTable<'_>) {
    for (old, new) in OLD_KEYS {
        if !table.contains_key(new)
            && let Some((key, value)) = table.remove_entry(old)
        {
            table.insert(Spanned::new(key.span(), Cow::Borrowed(new)), value);
        }
    }
}

/// Removes from the base's table `unknown` the keys that the file sets itself.
fn drop_set_unknowns(under: &mut DeTable<'_>, over: &DeTable<'_>) {
    let Some(DeValue::Table(unknown)) = under.get_mut("unknown").map(Spanned::get_mut) else { return };
    let set = |key: &str| {
        let mut parts = key.split('.');
        let first = parts.next().and_then(|part| over.get(part));
        parts.try_fold(first?, |value, part| match value.get_ref() {
            DeValue::Table(table) => table.get(part),
            _ => None,
        })
    };
    let known: Vec<String> =
        unknown.keys().map(|key| key.get_ref().to_string()).filter(|key| set(key).is_some()).collect();
    for key in known {
        unknown.remove(key.as_str());
    }
}
