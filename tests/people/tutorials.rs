//! Every command of the tutorials for organizers and authors, in real machines. Building images needs root and a mirror of
//! Debian. `tests/people/demo.rs` executes the tutorial for reviewers.

use crate::support::campaign;
use crate::support::commands;
use crate::support::images;

use campaign::Folder;

/// Executes a tutorial in a copy of the checkout.
fn execute(tutorial: &str) {
    images::image("images/breadth-first");
    let folder = Folder::new("");
    let checkout = folder.path().join("checkout");
    std::fs::create_dir(&checkout).unwrap();
    commands::link_checkout(&checkout);
    commands::execute(tutorial, || {
        let mut bash = folder.command("bash");
        bash.current_dir(&checkout);
        bash
    });
}

#[test]
fn the_tutorial_for_organizers_makes_an_edition() {
    execute(include_str!("../../docs/tutorials/organizer.md"));
}

#[test]
fn the_tutorial_for_authors_makes_images_that_qualify() {
    execute(include_str!("../../docs/tutorials/author.md"));
}
