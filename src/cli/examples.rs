//! The examples at the end of each command's help.

/// Examples by command, a command of another one as `image build`: command lines, and lines that introduce the next one.
pub const EXAMPLES: [(&str, &str); 37] = [
    (
        "doctor",
        "  mcc-harness doctor --edition mcc-2018 --dir results\n  mcc-harness doctor --allow-degraded --format json\n\
         How much equal computations differ here:\n  \
         mcc-harness doctor --measure build/images/reference --out results/measured-host.json",
    ),
    ("edition", "  mcc-harness edition list\n  mcc-harness edition show mcc-2018"),
    ("edition list", "  mcc-harness edition list\n  mcc-harness edition list --format json"),
    ("edition show", "  mcc-harness edition show mcc-2018\n  mcc-harness edition show my-edition.toml"),
    ("rule", "  mcc-harness rule\n  mcc-harness rule E-1.7\n  mcc-harness rule E-4 --format json"),
    ("plan", "  mcc-harness plan campaign.toml\n  mcc-harness plan campaign.toml --only 'LoLA/*/StateSpace'"),
    (
        "run",
        "  mcc-harness run campaign.toml --out results\n  \
         mcc-harness run campaign.toml --out results --retry infrastructure\n  \
         mcc-harness run campaign.toml --out results --rerun --tool LoLA --examination UpperBounds --reason 'host was overloaded'\n\
         From another terminal:\n  mcc-harness status results",
    ),
    (
        "submit",
        "  mcc-harness submit campaign.toml --out results --dry-run\n  mcc-harness submit campaign.toml --out results\n  \
         mcc-harness submit campaign.toml --out results --resume",
    ),
    (
        "status",
        "  mcc-harness status results\n  mcc-harness status results --watch\n  mcc-harness status results --format json",
    ),
    (
        "cancel",
        "  mcc-harness cancel results\nWhat is left, and how to go on:\n  mcc-harness status results\n  mcc-harness submit campaign.toml --out results --resume",
    ),
    ("collect", "  mcc-harness collect results\n  mcc-harness collect results --from copied-by-hand"),
    (
        "judge",
        "  mcc-harness judge results --out judged\n  \
         mcc-harness judge raw-result-analysis.csv --edition mcc-2018 --models models.csv --out judged\n\
         Own runs together with published answers:\n  \
         mcc-harness judge results published.csv.gz --edition mcc-2025 --replace LoLA=results --out judged\n\
         Ranks that depend on few values:\n  \
         mcc-harness judge results --out judged --sensitivity\n\
         Differences between two judgements:\n  \
         mcc-harness judge --compare judged-before judged-after",
    ),
    (
        "certify",
        "  mcc-harness certify judged --instances models --out certified\n  \
         mcc-harness certify judged --instances models --out weak --only weak --budget-s 10 --jobs 2\n\
         Labels of the trusted values, with the same points:\n  \
         mcc-harness judge results --certified certified --out judged-again",
    ),
    (
        "check-witness",
        "  mcc-harness check-witness witness.json --instances models\n  \
         mcc-harness check-witness witness.json --instances GPPP-PT-C0010N1000000000.tgz --format json\n\
         A trace of verifypn:\n  \
         mcc-harness check-witness trace.xml --instances DiningTable-PT-03.tgz --claim ReachabilityDeadlock DiningTable-PT-03-ReachabilityDeadlock-0 TRUE\n\
         A firing sequence of TINA:\n  \
         mcc-harness check-witness deadlock.scn --instances DiningTable-PT-03.tgz --claim ReachabilityDeadlock DiningTable-PT-03-ReachabilityDeadlock-0 TRUE",
    ),
    (
        "check-certificate",
        "  mcc-harness check-certificate certificate.json --instances models\n  \
         mcc-harness check-certificate certificate.json --instances TokenRing-PT-010.tgz --format json",
    ),
    (
        "convert-proof",
        "  mcc-harness convert-proof proof.smt2 --instance DiningTable-PT-03.tgz --claim ReachabilityCardinality DiningTable-PT-03-ReachabilityCardinality-00 TRUE --out 00.certificate.json\n  \
         mcc-harness convert-proof proof.smt2 --instance DiningTable-PT-03.tgz --claim ReachabilityFireability DiningTable-PT-03-ReachabilityFireability-07 FALSE --out 07.certificate.json",
    ),
    (
        "report",
        "  mcc-harness report judged --record results --out site\n\
         Several years side by side:\n  \
         mcc-harness report --years judged-2020 judged-2022 judged-2025 --out years",
    ),
    (
        "explain",
        "  mcc-harness explain judged --instance TokenRing-PT-010 --examination CTLCardinality --position 08\n  \
         mcc-harness explain judged --tool LoLA",
    ),
    (
        "qualify",
        "  mcc-harness qualify lola --tool LoLA --instances models\n\
         The tool's folder, before it has an image:\n  \
         mcc-harness qualify --native lola-folder --tool LoLA --instances models",
    ),
    (
        "compare-runs",
        "  mcc-harness compare-runs lola-old lola-new --tool LoLA --instances models --out compared\n\
         Two settings of one image, which the tool distinguishes by its name:\n  \
         mcc-harness compare-runs tapaal tapaal --tool tapaal --tool-b tapaal-fast --instances models --repeat 20",
    ),
    (
        "shrink",
        "  mcc-harness shrink Ring-PT-500.tgz --examination ReachabilityCardinality --property Ring-PT-500-ReachabilityCardinality-01 --tool MyTool --out report\n\
         Two tools:\n  \
         mcc-harness shrink Ring-PT-500.tgz --examination UpperBounds --property Ring-PT-500-UpperBounds-00 --tool MyTool --against OtherTool --out report",
    ),
    (
        "compare-campaigns",
        "  mcc-harness compare-campaigns results-before results-after\n  \
         mcc-harness compare-campaigns answers-2025.csv.gz results --edition mcc-2025 --models models-2025.csv --tool LoLA=LoLA-new",
    ),
    (
        "rate",
        "  mcc-harness rate results --published answers-2025.csv.gz --edition mcc-2025 --models models-2025.csv\n  \
         mcc-harness rate results --published answers-2025.csv.gz --edition mcc-2025 --baseline old-results --out rating",
    ),
    (
        "lint",
        "  mcc-harness lint stdout.txt --instance TokenRing-PT-010.tgz --examination StateSpace\n  \
         mcc-harness lint - --examination CTLFireability --format json",
    ),
    ("image", "  mcc-harness image inputs models --out inputs-disk\n  mcc-harness image inspect lola"),
    (
        "image build",
        "  mcc-harness image build --out reference\n  \
         mcc-harness image build --reference reference --tool lola-folder --out lola\n\
         A container that has the tool:\n  \
         mcc-harness image build --reference reference --container lola.tar --out lola",
    ),
    (
        "image inputs",
        "  mcc-harness image inputs models --out inputs-disk --edition mcc-2025\n\
         With pseudonyms, and the names again in the judgement:\n  \
         mcc-harness image inputs models --out inputs-disk --obfuscate 2025-secret\n  \
         mcc-harness judge results --names inputs-disk.names.csv --out judged",
    ),
    (
        "image import",
        "  mcc-harness image import submitted.vmdk --out tapaal\n  mcc-harness image import disk.qcow2 --out itstools",
    ),
    (
        "image export",
        "  mcc-harness image export lola --reference reference --vmdk lola.vmdk\n  \
         mcc-harness image export lola --reference reference --submission packet --tool LoLA --instances models",
    ),
    ("image inspect", "  mcc-harness image inspect lola\n  mcc-harness image inspect submitted.vmdk"),
    (
        "export",
        "  mcc-harness export results --archive campaign.tar.zst\n  \
         mcc-harness export results --archive lola.tar.zst --tool LoLA\n  \
         mcc-harness export results --csv raw-result-analysis.csv",
    ),
    (
        "import",
        "  mcc-harness import published.tar.zst --out again\n  \
         mcc-harness import published.tar.zst --disk images --instances models --out again\n\
         A BenchKit job file:\n  \
         mcc-harness import contest.bkjobs --edition mcc-2018 --inputs models --out campaign.toml",
    ),
    ("verify", "  mcc-harness verify campaign.tar.zst\n  mcc-harness verify results --judgement judged"),
    (
        "replay",
        "  mcc-harness replay campaign.tar.zst --run LoLA/TokenRing-PT-010/StateSpace --disk lola\n  \
         mcc-harness replay results --run LoLA/TokenRing-PT-010/StateSpace --disk lola --repeat 5",
    ),
    ("demo", "  mcc-harness demo\n  mcc-harness demo --out /tmp/demo --data tests/data/mcc/2018"),
    ("man", "  mcc-harness man --out man/man1\n  man --local-file man/man1/mcc-harness-run.1"),
    (
        "completions",
        "  mcc-harness completions bash > ~/.local/share/bash-completion/completions/mcc-harness\n  \
         mcc-harness completions zsh > ~/.zfunc/_mcc-harness",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command;

    /// Splits a command line into words: at spaces, with single quotes, up to a redirection.
    fn words(line: &str) -> Vec<String> {
        let parts = line.split('\'').enumerate();
        let words = parts.flat_map(|(number, part)| match number % 2 {
            1 => vec![part.to_owned()],
            _ => part.split_whitespace().map(String::from).collect(),
        });
        words.take_while(|word| word != ">").collect()
    }

    #[test]
    fn every_command_has_examples_and_all_of_them_are_accepted() {
        let command = command();
        let mut with_examples: Vec<String> = EXAMPLES.iter().map(|(name, _)| (*name).to_owned()).collect();
        let mut all = Vec::new();
        for shown in command.get_subcommands().filter(|command| !command.is_hide_set()) {
            all.push(shown.get_name().to_owned());
            all.extend(
                shown.get_subcommands().map(|inner| format!("{} {}", shown.get_name(), inner.get_name())),
            );
        }
        with_examples.sort_unstable();
        all.sort_unstable();
        assert_eq!(with_examples, all);
        for (name, examples) in EXAMPLES {
            let mut accepted = 0;
            for line in examples.lines().filter(|line| line.trim().starts_with("mcc-harness")) {
                let parsed = command.clone().try_get_matches_from(words(line));
                let parsed = parsed.unwrap_or_else(|error| panic!("{line}: {error}"));
                let (outer, inner) = parsed.subcommand().unwrap();
                let full = inner.subcommand_name().map(|inner| format!("{outer} {inner}"));
                accepted += usize::from(name == outer || full.as_deref() == Some(name));
            }
            // `cancel` and `man` have one use.
            let least = if ["cancel", "man"].contains(&name) { 1 } else { 2 };
            assert!(accepted >= least, "{name} has {accepted} examples of its own");
        }
    }

    #[test]
    fn renamed_options_are_accepted_under_their_old_names() {
        for line in [
            "mcc-harness judge --compare before after --times 3",
            "mcc-harness export results --csv raw.csv --contest-form",
            "mcc-harness export campaign.toml --bkjobs r1.bkjobs --at mcc@host",
            "mcc-harness run campaign.toml --out results --accept",
            "mcc-harness submit campaign.toml --out results --accept",
            "mcc-harness image inputs models --out inputs-disk --accept",
        ] {
            let parsed = command().try_get_matches_from(words(line));
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
        }
    }
}
