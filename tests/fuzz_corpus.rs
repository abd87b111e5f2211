//! The committed corpus of the fuzz targets, on stable Rust: what was found once is never broken again.

#[path = "../fuzz/targets.rs"]
mod targets;

use std::fs;
use std::path::Path;

#[test]
fn no_file_of_the_corpus_breaks_a_reader() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (name, target) in targets::TARGETS {
        let mut files: Vec<_> =
            fs::read_dir(corpus.join(name)).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        assert!(files.len() >= 4, "{name}: {} files", files.len());
        for path in files {
            println!("{}", path.display());
            target(&fs::read(path).unwrap());
        }
    }
}
