//! Runs every fuzz target on its committed corpus, with stable Rust: an input that once failed stays covered.

#[path = "../fuzz/targets.rs"]
mod targets;

use std::fs;
use std::path::Path;

#[test]
fn no_corpus_file_makes_a_reader_panic() {
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
