//! Reads and writes job files of BenchKit (`.bkjobs`): the runs of one benchmark on one machine, one line each.
//!
//! ```text
//! #BK_CONFIGURATION:bench:login:host:machines at once:login in the VM:seconds:MB:cores:folder of the images
//! run id,tool,image,input,examination
//! ```
//!
//! Other lines that begin with `#` are comments.

use std::fmt::Write as _;

/// One job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFile {
    /// Id of the benchmark.
    pub benchmark: String,
    /// Login on the host.
    pub login: String,
    /// The host that runs the virtual machines.
    pub host: String,
    /// Number of virtual machines that run at once.
    pub machines: u32,
    /// Login in the virtual machine.
    pub vm_login: String,
    /// Time confinement of a run in seconds.
    pub seconds: u64,
    /// Memory confinement of a run in MB.
    pub memory_mb: u64,
    /// Number of cores of a virtual machine.
    pub cores: u32,
    /// The folder of the images on the host.
    pub images: String,
    /// The runs.
    pub jobs: Vec<Job>,
}

/// A run of a job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Id of the run, such as `r001-smll-151476480000001`.
    pub run_id: String,
    /// Name of the tool.
    pub tool: String,
    /// File name of the image.
    pub image: String,
    /// Name of the instance.
    pub input: String,
    /// Name of the examination.
    pub examination: String,
}

/// Why a job file cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobFileError {
    /// A line is wrong.
    #[error("line {line}: {message}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// The configuration is missing.
    #[error("there is no line #BK_CONFIGURATION; give a file that `bklb -generate` wrote")]
    NoConfiguration,
    /// A field has a character that separates fields.
    #[error("`{0}` cannot be a field of a job file: it contains `,`, `:` or a line break")]
    Separator(String),
}

const CONFIGURATION: &str = "#BK_CONFIGURATION:";

impl JobFile {
    /// Reads the text of a job file.
    ///
    /// # Errors
    /// A line is wrong, or the configuration is missing or repeated.
    pub fn read(text: &str) -> Result<Self, JobFileError> {
        let mut file = None;
        let mut jobs = Vec::new();
        for (number, line) in text.lines().map(str::trim).enumerate() {
            let wrong = |message: String| JobFileError::Line { line: number + 1, message };
            if let Some(configuration) = line.strip_prefix(CONFIGURATION) {
                let read = Self::configuration(configuration).map_err(wrong)?;
                if file.replace(read).is_some() {
                    return Err(wrong("a second #BK_CONFIGURATION; keep one".to_owned()));
                }
            } else if !line.starts_with('#') && !line.is_empty() {
                let fields: Vec<&str> = line.split(',').map(str::trim).collect();
                let [run_id, tool, image, input, examination] = fields[..] else {
                    let message =
                        format!("{} fields; expected run id,tool,image,input,examination", fields.len());
                    return Err(wrong(message));
                };
                if let Some(at) = fields.iter().position(|field| field.is_empty()) {
                    return Err(wrong(format!("field {} is empty", at + 1)));
                }
                let [run_id, tool, image, input, examination] =
                    [run_id, tool, image, input, examination].map(str::to_owned);
                jobs.push(Job { run_id, tool, image, input, examination });
            }
        }
        let file = file.ok_or(JobFileError::NoConfiguration)?;
        Ok(Self { jobs, ..file })
    }

    fn configuration(fields: &str) -> Result<Self, String> {
        let fields: Vec<&str> = fields.split(':').map(str::trim).collect();
        let [benchmark, login, host, machines, vm_login, seconds, memory_mb, cores, images] = fields[..]
        else {
            return Err(format!(
                "{} fields; expected bench:login:host:machines:login in the VM:seconds:MB:cores:folder of the images",
                fields.len()
            ));
        };
        let number = |text: &str, what: &str| {
            text.parse().map_err(|_| format!("{what} is `{text}`; write a whole number")).and_then(
                |number: u32| {
                    if number == 0 { Err(format!("{what} is 0; write at least 1")) } else { Ok(number) }
                },
            )
        };
        Ok(Self {
            benchmark: benchmark.to_owned(),
            login: login.to_owned(),
            host: host.to_owned(),
            machines: number(machines, "the number of machines")?,
            vm_login: vm_login.to_owned(),
            seconds: number(seconds, "the time confinement")?.into(),
            memory_mb: number(memory_mb, "the memory confinement")?.into(),
            cores: number(cores, "the number of cores")?,
            images: images.to_owned(),
            jobs: Vec::new(),
        })
    }

    /// The text of the file in the form of `bklb -generate`. Consecutive runs of one tool have a common comment.
    ///
    /// # Errors
    /// A field has a character that separates fields.
    pub fn write(&self) -> Result<String, JobFileError> {
        let Self { benchmark, login, host, machines, vm_login, seconds, memory_mb, cores, images, jobs } =
            self;
        let of_jobs =
            jobs.iter().flat_map(|job| [&job.run_id, &job.tool, &job.image, &job.input, &job.examination]);
        let all = [benchmark, login, host, vm_login, images].into_iter().chain(of_jobs);
        if let Some(bad) = all.into_iter().find(|field| field.contains([',', ':', '\n', '\r'])) {
            return Err(JobFileError::Separator(bad.clone()));
        }
        let mut text =
            "# the configuration (benchid, login, hostid, nb cores, login on the vm, max time, max memory, \
                        max core, location of vm in the execution machine)\n"
                .to_owned();
        let _ = writeln!(
            text,
            "{CONFIGURATION}{benchmark}:{login}:{host}:{machines}:{vm_login}:{seconds}:{memory_mb}:{cores}:{images}"
        );
        let mut before = None;
        for job in jobs {
            if before != Some((&job.tool, &job.image)) {
                let _ = writeln!(text, "#\n# tool {} ({})", job.tool, job.image);
                before = Some((&job.tool, &job.image));
            }
            let Job { run_id, tool, image, input, examination } = job;
            let _ = writeln!(text, "{run_id},{tool},{image},{input},{examination}");
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# the configuration (benchid, login, hostid, nb cores, login on the vm, max time, max memory, max core, location of \
vm in the execution machine)
#BK_CONFIGURATION:r001-tall:fko:tall.example:31:mcc:3600:16384:4:/data/vm
#
# tool lola (lola2017.qcow2)
r001-tall-149700000000001,lola,lola2017.qcow2,Philosophers-PT-000005,StateSpace
r001-tall-149700000000002,lola,lola2017.qcow2,Philosophers-PT-000005,UpperBounds
#
# tool tedd (tina2017.qcow2)
r001-tall-149700000000003,tedd,tina2017.qcow2,Philosophers-PT-000005,StateSpace
";

    #[test]
    fn a_job_file_is_read_and_written_in_the_form_of_benchkit() {
        let file = JobFile::read(&FILE.replace("# tool", "  # a,b,c,d,e")).unwrap();
        assert_eq!(file.jobs.len(), 3, "an indented comment is not a job");
        let file = JobFile::read(FILE).unwrap();
        assert_eq!((file.benchmark.as_str(), file.machines, file.cores), ("r001-tall", 31, 4));
        assert_eq!(file.jobs.len(), 3);
        assert_eq!(file.jobs[1].examination, "UpperBounds");
        assert_eq!(file.write().unwrap(), FILE);
    }

    #[test]
    fn errors_name_the_line() {
        for (old, new, message) in [
            ("#BK_CONF", "# BK_CONF", "there is no line #BK_CONFIGURATION"),
            (":16384", "", "line 2: 8 fields; expected bench:login:"),
            (":4:", ":0:", "line 2: the number of cores is 0"),
            (":3600:", ":1h:", "line 2: the time confinement is `1h`; write a whole number"),
            ("00001,lola,", "00001,", "line 5: 4 fields; expected run id,tool,"),
            ("lola,lola2017.qcow2,Phil", "lola,,Phil", "line 5: field 3 is empty"),
            ("# tool tedd", "#BK_CONFIGURATION:a:b:c:1:m:1:1:1:/\n# tool tedd", "line 8: a second"),
        ] {
            assert!(FILE.contains(old));
            let error = JobFile::read(&FILE.replacen(old, new, 1)).unwrap_err().to_string();
            assert!(error.contains(message), "{error}\nexpected: {message}");
        }
        let mut file = JobFile::read(FILE).unwrap();
        file.jobs[0].tool = "a,b".to_owned();
        assert!(file.write().unwrap_err().to_string().contains("`a,b`"));
    }
}
