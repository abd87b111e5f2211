#!/usr/bin/env python3
"""The site of the whole contest of 2018, made by `mcc-harness report` and, of as many runs, by BenchExec's
table-generator; and what a keystroke in the filter of its longest table costs in Chromium.

    benches/site.py HARNESS TABLE_GENERATOR [--times N] [--rounds N] [--harness-only]

Real answers (tests/data/mcc/2018), seeded times; no raw outputs. With --times 10 every instance stands there ten
times, under names of its own. Prints wall-clock and CPU seconds, bytes and files of both, and their ratios.
"""
import argparse, json, os, random, resource, shutil, subprocess, sys, tempfile, time
from pathlib import Path
from xml.sax.saxutils import quoteattr

ANSWERS = Path(__file__).resolve().parents[1] / "tests/data/mcc/2018"


def timed(command, **options):
    """Wall-clock and CPU seconds of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL, **options)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def size(folder):
    files = [path for path in Path(folder).rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in files), len(files)


def judgement(harness, folder, times):
    """Judges the answers of 2018, then gives every run seeded times and every instance its copies."""
    judged = folder / "judged"
    timed([harness, "judge", ANSWERS / "answers.csv.gz", "--models", ANSWERS / "models.csv",
           "--edition", "mcc-2018", "--out", judged])
    content = json.loads((judged / "judgement.json").read_text())
    dice = random.Random(2018)
    for block in content["blocks"]:
        for cell in block["cells"]:
            cpu = int(dice.lognormvariate(8, 2))
            cell["cost"] = {"cpu_ms": cpu, "wall_ms": cpu + 800, "memory_kib": dice.randrange(20_000, 16_000_000)}
    instances, blocks = content["instances"], content["blocks"]
    for copy in range(1, times):
        first = len(content["instances"])
        content["instances"] = content["instances"] + [
            of | {"instance": f"{of['instance']}-x{copy}"} for of in instances]
        content["blocks"] = content["blocks"] + [of | {"instance": of["instance"] + first} for of in blocks]
    (judged / "judgement.json").write_text(json.dumps(content, separators=(",", ":")))
    return judged, content


def results_of_benchexec(content, folder):
    """The same runs as result files of BenchExec, one for each entry; returns them."""
    files = []
    by_entry = {number: [] for number in range(len(content["entries"]))}
    for block in content["blocks"]:
        name = f"{content['instances'][block['instance']]['instance']}-{content['examinations'][block['examination']]}"
        for cell in block["cells"]:
            cost, verdicts = cell["cost"], cell["verdicts"]
            category = "wrong" if "-" in verdicts else "correct" if "+" in verdicts else "unknown"
            status = "false" if "-" in verdicts else "true" if "+" in verdicts else "unknown"
            by_entry[cell["entry"]].append(
                f'<run name={quoteattr(name)} files="[{name}]" properties="mcc" expectedVerdict="true">'
                f'<column title="status" value="{status}"/><column title="category" value="{category}" hidden="true"/>'
                f'<column title="cputime" value="{cost["cpu_ms"] / 1000}s"/>'
                f'<column title="walltime" value="{cost["wall_ms"] / 1000}s"/>'
                f'<column title="memory" value="{cost["memory_kib"] * 1024}B"/></run>')
    for number, runs in by_entry.items():
        entry = content["entries"][number]["entry"]
        path = folder / f"mcc.{entry}.results.xml"
        path.write_text(
            '<?xml version="1.0"?>\n<!DOCTYPE result PUBLIC "+//IDN sosy-lab.org//DTD BenchExec result 3.0//EN" '
            '"https://www.sosy-lab.org/benchexec/result-3.0.dtd">\n'
            f'<result benchmarkname="mcc" date="2018-06-26 10:00:00 CEST" starttime="2018-06-26T10:00:00+02:00" '
            f'tool={quoteattr(entry)} version="1" toolmodule="x" generator="BenchExec 3.35" name="mcc" '
            'memlimit="16000000000B" timelimit="3600s" cpuCores="4">'
            '<columns><column title="status"/><column title="cputime"/><column title="walltime"/>'
            '<column title="memory"/></columns>' + "\n".join(runs) + "</result>\n")
        files.append(path)
    return files


# --- keystrokes -------------------------------------------------------------------------------------------------

class Chromium:
    """A browser controlled through a pipe: messages of the DevTools protocol, each ended by a zero byte."""

    def __init__(self, folder):
        (its_in, self.out), (self.back, its_out) = os.pipe(), os.pipe()
        def wire():
            os.dup2(its_in, 3)
            os.dup2(its_out, 4)
            # If the pipe already has that number, dup2 changes nothing, and closing the pipe would close it.
            os.set_inheritable(3, True)
            os.set_inheritable(4, True)
        self.process = subprocess.Popen(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--remote-debugging-pipe", "--window-size=1280,1000", f"--user-data-dir={folder}"],
            preexec_fn=wire, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(its_in)
        os.close(its_out)
        self.number, self.buffer, self.events, self.session = 0, b"", [], None

    def message(self):
        while b"\0" not in self.buffer:
            part = os.read(self.back, 1 << 20)
            if not part:
                sys.exit("chromium is gone")
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def ask(self, method, **parameters):
        self.number += 1
        question = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            question["sessionId"] = self.session
        os.write(self.out, json.dumps(question).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, script):
        answer = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            sys.exit(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")


# Time from the key until its effect is visible: the start of a second frame means that the first is drawn.
PRESS = """new Promise(done => {
  const start = performance.now();
  const field = document.querySelector('.filter');
  field.value = %s;
  field.dispatchEvent(new Event('input', { bubbles: true }));
  const work = performance.now() - start;
  requestAnimationFrame(() => requestAnimationFrame(() => done([work, performance.now() - start])));
})"""


def keystrokes(page):
    """For each key of some filters: milliseconds of work, and milliseconds until the effect is visible."""
    # Child processes of the browser may still write after it has ended.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Chromium(folder)
        try:
            target = browser.ask("Target.createTarget", url="about:blank")["targetId"]
            browser.session = browser.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            browser.ask("Page.enable")
            start = time.monotonic()
            browser.ask("Page.navigate", url=f"file://{page}")
            while not browser.evaluate("document.readyState === 'complete' && document.querySelectorAll('[aria-rowindex]').length > 0"):
                if time.monotonic() - start > 60:
                    sys.exit(f"{page} shows no table")
            opened = time.monotonic() - start
            rows = browser.evaluate("document.querySelector('.count').textContent")
            browser.evaluate("document.querySelector('table.grid thead th:nth-child(4) button').click()")
            measured = []
            for words in ["philosophers-pt-0000", "LoLA:wrong -surprise", "surprise Tapaal:complete"]:
                for length in [*range(1, len(words) + 1), *range(len(words) - 1, -1, -1)]:
                    measured.append(browser.evaluate(PRESS % json.dumps(words[:length])))
            return rows, opened, measured
        finally:
            browser.process.terminate()
            browser.process.wait()


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("harness", type=Path)
    arguments.add_argument("table_generator", type=Path)
    arguments.add_argument("--times", type=int, default=1)
    arguments.add_argument("--rounds", type=int, default=int(os.environ.get("ROUNDS", 3)))
    arguments.add_argument("--harness-only", action="store_true")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        harness = given.harness.resolve()
        judged, content = judgement(harness, folder, given.times)
        runs = sum(len(block["cells"]) for block in content["blocks"])
        results = [] if given.harness_only else results_of_benchexec(content, folder)
        print(f"{runs} runs, {len(content['instances'])} instances")
        del content
        site, harness_times, generator_times = folder / "site", [], []
        for turn in range(given.rounds):
            shutil.rmtree(site, ignore_errors=True)
            harness_times.append(timed([harness, "report", judged, "--out", site]))
            # One measurement is enough to show a factor of twenty; each takes minutes.
            if results and turn == 0:
                generator_times.append(timed([given.table_generator, "--no-diff", "-f", "html", "-f", "csv",
                                     "-o", folder / "tables", *results]))
        wall, cpu = sorted(harness_times)[len(harness_times) // 2]
        count, files = size(site)
        print(f"mcc-harness report: {wall:.2f} s ({cpu:.2f} s CPU), {count / 1e6:.1f} MB in {files} files")
        front = sum((site / name).stat().st_size for name in ["index.html", "site.css"])
        print(f"the front page with its looks: {front / 1e3:.0f} KB")
        if generator_times:
            their_wall, their_cpu = generator_times[0]
            their_size, _ = size(folder / "tables")
            print(f"table-generator: {their_wall:.1f} s ({their_cpu:.1f} s CPU), {their_size / 1e6:.1f} MB")
            print(f"ratios: {their_wall / wall:.1f} in wall-clock time, {their_cpu / cpu:.1f} in CPU time, "
                  f"{their_size / count:.2f} in size")
        rows, opened, measured = keystrokes(site / "examinations/CTLCardinality.html")
        work, seen = [sorted(of) for of in zip(*measured)]
        print(f"filter of {rows} rows by {len(measured)} keys, sorted by a tool: longest {work[-1]:.1f} ms of work, "
              f"{seen[-1]:.1f} ms until it is seen (median {work[len(work) // 2]:.1f} and {seen[len(seen) // 2]:.1f}); "
              f"opened in {opened:.2f} s")


if __name__ == "__main__":
    main()
