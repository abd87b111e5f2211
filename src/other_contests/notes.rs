//! Notes on places of podiums that pages show in other words than the files of a judgement.

/// What stands between the notes of one place.
const BETWEEN: &str = "; ";

/// A note on a place of a podium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceNote {
    /// The points are those of the report, because results in categories that the entry opted out of are not published.
    NotRecomputable,
    /// The points are those of the report, because nothing is known of the sub-categories.
    PartsNotGiven,
    /// The points are those of the report, because nothing else of the track is known (CRV).
    TotalsOnly,
    /// The entry has no medal although its rank has one.
    NoPoints,
}

impl PlaceNote {
    const ALL: [Self; 4] = [Self::NotRecomputable, Self::PartsNotGiven, Self::TotalsOnly, Self::NoPoints];

    /// The note as files and texts have it, about one entry.
    pub const fn in_files(self) -> &'static str {
        match self {
            Self::NotRecomputable => {
                "as printed, not recomputable: its results in categories that it opted out of are not published"
            }
            Self::PartsNotGiven => "as printed: the results of its sub-categories are not given",
            Self::TotalsOnly => "as printed: the track is known by its totals only",
            Self::NoPoints => "no medal: its points are not more than 0",
        }
    }

    /// The note as pages have it, where several entries can share it and nothing beside it says that it is about points.
    pub const fn on_pages(self) -> &'static str {
        match self {
            Self::NotRecomputable => {
                "points as printed, not recomputable: the results of an entry in categories that it opted out of are not \
                 published"
            }
            Self::PartsNotGiven => "points as printed: the results in the sub-categories are not given",
            Self::TotalsOnly => "points as printed: the track is known by its totals only",
            Self::NoPoints => "no medal: points are not more than 0",
        }
    }

    /// Adds the note to others.
    pub(crate) fn add_to(self, notes: &mut String) {
        if !notes.is_empty() {
            *notes += BETWEEN;
        }
        *notes += self.in_files();
    }

    /// The notes of a place or a score as pages have them. Other notes stay as they are.
    pub fn all_on_pages(notes: &str) -> String {
        let on_page = |note| match Self::ALL.into_iter().find(|known| known.in_files() == note) {
            Some(known) => known.on_pages(),
            None => note,
        };
        notes.split(BETWEEN).map(on_page).collect::<Vec<_>>().join(BETWEEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_note_of_a_file_is_found_again_for_pages() {
        for note in PlaceNote::ALL {
            assert_eq!(PlaceNote::all_on_pages(note.in_files()), note.on_pages());
        }
        let mut notes = "opted out".to_owned();
        PlaceNote::NoPoints.add_to(&mut notes);
        assert_eq!(notes, "opted out; no medal: its points are not more than 0");
        assert_eq!(PlaceNote::all_on_pages(&notes), "opted out; no medal: points are not more than 0");
        assert_eq!(PlaceNote::all_on_pages(""), "");
    }
}
