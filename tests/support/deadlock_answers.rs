//! Small tables of answers in the compact form.

/// The table of answers of some tools: `T`, `F` or `?` on each of the instances F-PT-1, F-PT-2, ...
pub fn table(answers: &[(&str, &str)]) -> String {
    let mut table = "tool,instance,examination,answers,wrong\n".to_owned();
    for (tool, letters) in answers {
        for (at, letter) in letters.chars().enumerate() {
            table += &format!("{tool},F-PT-{},ReachabilityDeadlock,{letter},\n", at + 1);
        }
    }
    table
}
