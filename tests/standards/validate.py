"""Checks files by the public validators of their formats, without network. Prints each problem; exits with 1 if there is one.

validate.py archive FOLDER        ro-crate-metadata.json, datapackage.json, CITATION.cff, REUSE.toml of an unpacked archive
validate.py judgement FOLDER      the same of a judgement of SV-COMP or CRV, which has no REUSE.toml and may have no CITATION.cff
validate.py sarif FILE            a SARIF log
validate.py sql FOLDER < LINES    one DuckDB statement per line, in FOLDER; each must return a row
"""

import json
import os
import socket
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent

# Recommendations of RO-Crate that an archive does not follow, and why.
NOT_FOLLOWED = {
    "51.1": "whether the DOI resolves cannot be checked without network",
    "64.1": "the size of SHA256SUMS, which is written after the metadata",
    "68.1": "outputs/ has a million files",
    "80.2": "affiliations of organizers are no setting",
    "80.3": "as 80.2",
    "85.0": "the expression of a tool's licence has no address",
    "86.2": "addresses of organizations are no setting",
    "89.0": "nor are their identifiers (ROR)",
    "90.1": "nor are contacts",
    "91.0": "nor are identifiers of people (ORCID)",
    "93.0": "as 90.1",
}


def no_network(*_args, **_kwargs):
    raise OSError("the validators must not use the network")


socket.socket.connect = no_network


def ro_crate(folder):
    from rocrate_validator import services
    from rocrate_validator.models.settings import ValidationSettings
    from rocrate_validator.utils.http import HttpRequester
    from rocrate_validator.utils.uri import URI

    import requests

    def local_copy(_self, url, **_kwargs):
        response = requests.Response()
        response.url = url
        response.status_code = 504
        if url == "https://w3id.org/ro/crate/1.2/context":
            response.status_code = 200
            response.headers["Content-Type"] = "application/ld+json"
            response._content = (HERE / "ro-crate-1.2-context.json").read_bytes()
        return response

    HttpRequester.get = local_copy
    HttpRequester.head = local_copy
    with tempfile.TemporaryDirectory() as cache:
        settings = ValidationSettings(
            rocrate_uri=URI(str(folder)),
            profile_identifier="ro-crate-1.2",
            requirement_severity="RECOMMENDED",
            offline=True,
            cache_path=Path(cache) / "cache",
            packaging_mode="attached",
        )
        result = services.validate(settings)
    checked = len(result.executed_checks)
    if checked < 50:
        yield f"only {checked} checks were made"
    for issue in result.get_issues():
        number = issue.check.identifier.rsplit("_", 1)[-1]
        if number in NOT_FOLLOWED and issue.severity.name == "RECOMMENDED":
            continue
        yield f"{issue.severity.name} {issue.check.identifier}: {issue.message} ({issue.violatingEntity})"


def data_package(folder):
    import frictionless

    os.chdir(folder)
    report = frictionless.validate("datapackage.json")
    tables = {str(path) for path in [*Path(".").glob("*.csv"), *Path("judgement").glob("*.csv")]}
    described = {task.place for task in report.tasks}
    for table in sorted(tables ^ described):
        yield f"{table} is a table and not described, or described and no table"
    for error in report.errors:
        yield error.message
    for task in report.tasks:
        for error in task.errors:
            yield f"{task.place}: {error.message}"


def citation(folder):
    from cffconvert.citation import Citation

    text = (folder / "CITATION.cff").read_text()
    cited = Citation(text)
    try:
        cited.validate()
    except Exception as error:
        yield f"CITATION.cff: {error}"
    if "title" not in cited.as_bibtex():
        yield "CITATION.cff gives no BibTeX entry"


def reuse(folder):
    from reuse.project import Project
    from reuse.report import ProjectReport

    report = ProjectReport.generate(Project.from_directory(folder), do_checksum=False, multiprocessing=False)
    if not report.is_compliant:
        yield f"REUSE: {json.dumps(report.to_dict_lint()['non_compliant'])}"
    if not report.file_reports:
        yield "REUSE: no file was checked"


def sarif(file):
    import jsonschema

    schema = json.loads((HERE / "sarif-2.1.0.schema.json").read_text())
    log = json.loads(file.read_text())
    for error in jsonschema.Draft7Validator(schema).iter_errors(log):
        yield f"{error.json_path}: {error.message}"


def sql(folder):
    import duckdb

    os.chdir(folder)
    lines = [line for line in sys.stdin.read().splitlines() if line.strip()]
    if not lines:
        yield "no statement"
    for line in lines:
        try:
            if not duckdb.connect().execute(line).fetchall():
                yield f"{line}: no row"
        except duckdb.Error as error:
            yield f"{line}: {error}"


def main():
    what, path = sys.argv[1], Path(sys.argv[2]).resolve()
    checks = {
        "archive": [ro_crate, data_package, citation, reuse],
        "judgement": [ro_crate, data_package] + [citation] * (path / "CITATION.cff").exists(),
        "sarif": [sarif],
        "sql": [sql],
    }[what]
    problems = [problem for check in checks for problem in check(path)]
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


main()
