//! The site in a real browser: what its pages show, save, print and refuse, and that nobody is shut out. Screenshots are kept
//! in `target/.../tmp/screenshots` for inspection.

use crate::chromium::{add_scripts, chromium, in_frames, open, result_of, see};
use crate::shown_site::{PAGES, site_of};
use crate::support::{contest, data};
use mcc_harness::report::{self, SiteInput};
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

#[test]
fn pages_open_without_errors_or_external_requests() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    for (name, page, fragment, shown) in PAGES {
        let seen = see(&chromium, &site.join(page), fragment);
        assert_eq!((seen.console, seen.requested), (vec![], vec![]), "{name}");
        // The dump is the page after its scripts have run: no text of a tool became an element.
        let dom = seen.dom;
        assert!(
            dom.contains("</footer>")
                && (dom.contains("Model Checking Contest 2018</title>") || page.starts_with("sv-comp/")),
            "{name}: {dom}"
        );
        assert!(!dom.contains("<script>") && !dom.contains("src=\"http"), "{name}");
        // Where lines may break does not matter.
        let whole = |text: &str| text.replace("<wbr>", "").replace("&nbsp;", " ");
        for words in shown {
            assert!(whole(&dom).contains(&whole(words)), "{name} does not show {words}: {dom}");
        }
    }
    // This test can fail: a request is found, and so is a script inside a page, which the page's policy blocks.
    let requesting = dir.path().join("requesting.html");
    fs::write(&requesting, "<!doctype html><img src=http://example.org/x.png>").expect("a file");
    assert_eq!(see(&chromium, &requesting, "").requested, ["http://example.org/x.png"]);
    let index = site.join("index.html");
    let html = fs::read_to_string(&index).expect("a page");
    fs::write(&index, html.replace("</main>", "<script>document.title = 1</script></main>")).expect("a page");
    let seen = see(&chromium, &index, "");
    assert!(!seen.console.is_empty() && seen.dom.contains("Model Checking Contest 2018</title>"));
}

#[test]
fn an_address_with_unknown_parts_shows_a_message() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    let (no_site, no_name) = ("This site does not have this", "The address does not name an examination.");
    for (parts, message) in [
        ("examination=__proto__&position=999", no_site),
        ("examination=__proto__&entry=walk", no_site),
        ("examination=CTLCardinality&entry=__proto__", no_site),
        ("position=1", no_name),
        ("entry=walk", no_name),
        ("examination=CTLCardinality&position=999", "This examination does not have this position."),
        ("examination=CTLCardinality&position=__proto__", "This examination does not have this position."),
    ] {
        let fragment = format!("#instance=Philosophers-PT-000005&{parts}");
        let seen = see(&chromium, &site.join("instance.html"), &fragment);
        assert_eq!(seen.console, [""; 0], "{parts}");
        assert!(seen.dom.contains(message), "{parts}: {}", seen.dom);
    }
}

#[test]
fn the_comparison_of_two_crv_tools_says_how_many_runs_it_leaves_out() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let (input, judged, site) = (
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/crv/2014"),
        dir.path().join("judged"),
        dir.path().join("site"),
    );
    let run = |command: &str, input: &Path, more: &[&str], out: &Path| {
        let mut harness = assert_cmd::Command::new(env!("CARGO_BIN_EXE_mcc-harness"));
        harness.arg(command).arg(input).args(more).arg("--out").arg(out).assert().success();
    };
    run("judge", &input, &["--edition", "crv-2014"], &judged);
    run("report", &judged, &[], &site);
    let seen = see(&chromium, &site.join("compare.html"), "#a=JavaMOP&b=QEA");
    let left_out = "19 further runs are left out, measured for one of the two entries only.";
    assert!(seen.dom.contains("Compared runs: 23.") && seen.dom.contains(left_out), "{}", seen.dom);
    assert!(seen.dom.contains("a click keeps its name."), "{}", seen.dom);
}

/// Shows memory instead of time, moves the focus to the links that save files, and sets the title of the page to a
/// description of these files.
const SAVED: &str = "const kept = new Map(), make = URL.createObjectURL;
URL.createObjectURL = blob => { const address = make(blob); kept.set(address, blob); return address; };
addEventListener('load', () => {
  location.hash += '&what=memory';
  const look = async () => {
    const links = [...document.querySelectorAll('#compare a[download]')];
    if (!links.length || !links.every(link => link.download.startsWith('memory'))) return setTimeout(look, 20);
    const found = await Promise.all(links.map(async link => {
      link.focus();
      const blob = kept.get(link.href);
      return [link.download, document.activeElement === link, blob.type, await blob.text()];
    }));
    document.title = JSON.stringify(found);
  };
  look();
});";

#[test]
fn the_picture_of_any_two_tools_is_saved_with_its_figures() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    add_scripts(&site, &[("saved.js", SAVED)]);
    let seen = see(&chromium, &site.join("compare.html"), "#a=walk&b=depth-first");
    assert_eq!((seen.console, seen.requested), (vec![], vec![]));
    let title = seen.dom.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next());
    let found = title.unwrap_or_default().replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let [svg, csv]: [(String, bool, String, String); 2] =
        serde_json::from_str(&found).unwrap_or_else(|error| panic!("{error}: {found}"));
    let name = |ending| format!("memory-walk-depth-first.{ending}");
    assert_eq!((svg.0, svg.1, svg.2.as_str()), (name("svg"), true, "image/svg+xml"));
    assert_eq!((csv.0, csv.1, csv.2.as_str()), (name("csv"), true, "text/csv"));
    // A row for each run of both, with the right and wrong values and the memory of each.
    let rows: Vec<&str> = csv.3.lines().collect();
    assert_eq!(rows.len(), 1 + 9);
    assert_eq!(rows[0], "examination,instance,x_right,x_wrong,x_memory_kib,y_right,y_wrong,y_memory_kib");
    assert!(rows.contains(&"CTLCardinality,Philosophers-PT-000005,3,0,250000,15,0,250000"), "{rows:?}");
    // The SVG is complete: it has its style sheet, for light and dark schemes, and a description.
    let picture = roxmltree::Document::parse(&svg.3).unwrap_or_else(|error| panic!("{error}: {}", svg.3));
    let text = |tag: &str| {
        let node = picture.descendants().find(|node| node.has_tag_name(tag));
        node.and_then(|node| node.text()).unwrap_or_default()
    };
    assert_eq!(text("title"), "walk and depth-first: Memory");
    assert!(
        text("desc").starts_with("Compared runs: 9. Runs with a right value of both entries: 2;"),
        "{}",
        text("desc")
    );
    assert!(text("style").contains("prefers-color-scheme:dark") && !svg.3.contains("href"), "{}", svg.3);
    let texts: Vec<&str> = picture.descendants().filter_map(|node| node.text()).collect();
    assert!(texts.contains(&"limit 16 GiB") && texts.contains(&"64 MiB"), "{texts:?}");
}

#[test]
fn the_address_has_the_state_of_a_table() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    let page = "examinations/CTLCardinality.html";
    let heads = "all('.grid thead th button').map(of => of.textContent)";
    let shown = format!("[all('.count')[0].textContent, {heads}, all('#show-1')[0].value]");
    // What the address says is shown.
    let state = "#filter=phil&sort=-depth-first&hide=Status,walk&range=breadth-first:15..&show=cpu";
    let result = result_of(&chromium, &site, page, state, &format!("return {shown};"));
    let heads_left = ["Instance", "breadth-first", "depth-first", "wrong-on-purpose", "BVT-2018"];
    // The CPU time of breadth-first is 12.34 s.
    assert_eq!(result, serde_json::json!(["0 of 3", heads_left, "cpu"]));
    // What is chosen is in the address, without steps in the history; a new address of the open page has an effect.
    let steps = format!(
        "const before = history.length, field = all('.filter')[0];
         field.value = 'Phil';
         field.dispatchEvent(new Event('input'));
         all('.grid thead button')[2].click();
         all('.columns-box input[type=checkbox]')[1].click();
         const bound = all('.columns-box input[data-bound=from]')[0];
         bound.value = '9';
         bound.dispatchEvent(new Event('change', {{ bubbles: true }}));
         const chosen = [location.hash, history.length - before, all('.count')[0].textContent];
         location.hash = '#filter=walk:dnc';
         await wait();
         return [chosen, all('.count')[0].textContent, {heads}.length, field.value];"
    );
    let result = result_of(&chromium, &site, page, "", &steps);
    let chosen = serde_json::json!([
        "#filter=Phil&sort=-breadth-first&hide=Status&range=breadth-first:9..",
        0,
        "2 of 3"
    ]);
    assert_eq!(result, serde_json::json!([chosen, "2 of 3", 7, "walk:dnc"]));
}

#[test]
fn a_filter_without_a_hit_says_why() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    let steps = "const field = all('.filter')[0], found = [];
         for (const text of ['wrong', 'walk:wrnog', 'wlak:wrong', 'philosofers', 'tokenring :complete', 'walk:dnc']) {
             field.value = text;
             field.dispatchEvent(new Event('input'));
             await wait();
             await wait();
             found.push(all('.none')[0].hidden ? '' : all('.none')[0].textContent);
         }
         return found;";
    let result = result_of(&chromium, &site, "examinations/CTLCardinality.html", "", steps);
    let result: Vec<&str> =
        result.as_array().expect("texts").iter().filter_map(|text| text.as_str()).collect();
    assert_eq!(result[0], "To find runs, write “:wrong” with a colon.");
    assert!(
        result[1].starts_with("“wrnog” is not a word for runs; the words are right, wrong,"),
        "{}",
        result[1]
    );
    assert_eq!(result[2], "No entry begins with “wlak”. Did you mean “walk:wrong”?");
    assert_eq!(result[3], "No row has “philosofers”. Did you mean “philosophers”?");
    assert_eq!((result[4], result[5]), ("No row fits all words and ranges.", ""));
}

#[test]
fn a_long_table_is_printed_and_used_by_keyboard() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = dir.path().join("site");
    let threads = NonZeroUsize::new(2).expect("two");
    let judgement = contest::full_size();
    report::write_site(&judgement, SiteInput::default(), threads, &site).expect("a site");
    let steps = "const rows = () => all('.grid tbody:not([aria-hidden]) tr');
         const press = key => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
         const place = () => Number(document.activeElement.closest('tr')?.ariaRowIndex ?? 0);
         const box = all('.tall')[0], found = [];
         rows()[0].querySelectorAll('a')[3].focus();
         for (const key of ['End', 'Home', 'PageDown', 'ArrowDown']) { press(key); found.push(place()); await wait(); }
         box.scrollTop = 20000;
         box.dispatchEvent(new Event('scroll'));
         await wait();
         await wait();
         found.push(document.activeElement === box);
         press('ArrowUp');
         found.push(place());
         const some = rows().length < 200;
         dispatchEvent(new Event('beforeprint'));
         const printed = rows().length;
         dispatchEvent(new Event('afterprint'));
         await wait();
         return [found, some, printed, rows().length < 200];";
    let result = result_of(&chromium, &site, "examinations/StateSpace.html", "", steps);
    let places = result[0].as_array().expect("places");
    assert_eq!((&places[0], &places[1]), (&948.into(), &2.into()), "{result}");
    let page = places[2].as_u64().expect("a row");
    assert!(page > 10 && page < 200, "{result}");
    // The focus stays in the table, and goes on from the row that scrolled out of view.
    assert_eq!(
        (&places[3], &places[4], &places[5]),
        (&(page + 1).into(), &true.into(), &page.into()),
        "{result}"
    );
    assert_eq!(
        result.as_array().expect("parts")[1..],
        serde_json::json!([true, 947, true]).as_array().expect("parts")[..]
    );
    // Long names and tables do not make a page wider than a phone.
    add_scripts(&site, &[("report.js", REPORT)]);
    let pages =
        ["index.html", "examinations/StateSpace.html", "instances.html", "evidence.html", "pictures.html"]
            .map(|page| format!("file://{}", site.join(page).display()));
    for report in in_frames(&chromium, dir.path(), &pages, 390, &[]) {
        assert_eq!(report["width"], "390 of 390", "{pages:?}");
    }
}

#[test]
fn a_list_of_thousands_of_rows_is_printed_as_text() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    let rows: Vec<String> = (0..2001).map(|row| format!("[\"reason {row}\",\"a\"]")).collect();
    let list = format!(
        "mcc_lists([{{\"columns\":[[\"Reason\",\"text\"],[\"Basis\",\"text\"]],\"rows\":[{}]}}]);",
        rows.join(",")
    );
    fs::write(site.join("evidence.js"), list).expect("a list");
    let steps = "dispatchEvent(new Event('beforeprint'));
         const lines = all('.as-text pre').flatMap(of => of.textContent.split('\\n'));
         const printed = [lines.filter(of => of.startsWith('reason')).length, lines[0], lines[2], all('.tall table')[0].hidden];
         dispatchEvent(new Event('afterprint'));
         await wait();
         return [...printed, all('.as-text').length, all('.tall table')[0].hidden];";
    let result = result_of(&chromium, &site, "evidence.html", "", steps);
    let expected = serde_json::json!([2001, "Reason      | Basis", "reason 1    | a", true, 0, false]);
    assert_eq!(result, expected);
}

#[test]
fn the_front_page_finds_names_values_and_rules() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    let steps = "const found = {};
         for (const text of ['walk', 'philosophers', 'TokenRing-PT-005-CTLCardinality-08', 'e-4.1', 'wlak', 'state']) {
             location.hash = '#search=' + text;
             await wait();
             found[text] = [all('.search .count')[0].textContent, ...all('.hits a').map(of => of.getAttribute('href'))];
         }
         return found;";
    let found = result_of(&chromium, &site, "index.html", "", steps);
    assert_eq!(found["walk"], serde_json::json!(["1 hit", "tools/walk.html"]));
    assert_eq!(found["philosophers"][1], "instances.html#filter=Philosophers");
    let value = "instance.html#instance=TokenRing-PT-005&examination=CTLCardinality&position=08";
    assert_eq!(found["TokenRing-PT-005-CTLCardinality-08"][1], value);
    assert_eq!(found["e-4.1"][1], "rules.html#E-4.1");
    assert_eq!(found["wlak"], serde_json::json!(["Nothing has this name. Did you mean “walk”?"]));
    let state = found["state"].as_array().expect("hits");
    assert!(
        state.contains(&"podiums/StateSpace.html".into())
            && state.contains(&"examinations/StateSpace.html".into()),
        "{state:?}"
    );
}

#[test]
fn a_point_of_the_scatter_plot_leads_to_its_runs() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    let steps = "for (let n = 0; n < 40 && !all('.ring').length; n++) await wait();
         const svg = all('svg.plot')[0], box = svg.getBoundingClientRect();
         const point = all('.q').map(of => of.getAttribute('d').match(/^M(\\d+) (\\d+)/).slice(1).map(Number))[0];
         const scale = box.width / svg.viewBox.baseVal.width;
         const at = { clientX: box.x + (point[0] + 3) * scale, clientY: box.y + point[1] * scale, bubbles: true };
         svg.dispatchEvent(new MouseEvent('mousemove', at));
         svg.dispatchEvent(new MouseEvent('click', at));
         svg.dispatchEvent(new MouseEvent('mouseleave', at));
         const links = all('.hit-panel a').map(of => of.getAttribute('href'));
         const limits = all('svg.plot text').map(of => of.textContent).filter(text => text.startsWith('limit'));
         const words = all('#compare p')[0].textContent;
         all('.controls button')[0].click();
         for (let n = 0; n < 10; n++) await wait();
         return [links, limits, words, location.hash, all('.list tbody:not([aria-hidden]) tr').length];";
    let result = result_of(&chromium, &site, "compare.html", "#a=walk&b=depth-first&in=StateSpace", steps);
    let links = result[0].as_array().expect("links");
    assert!(links[0].as_str().is_some_and(|link| link.ends_with("&examination=StateSpace")), "{result}");
    assert!(links[1].as_str().is_some_and(|link| link.ends_with("&entry=walk")), "{result}");
    // Both tools are sequential: the limit of four cores is not theirs.
    assert_eq!(result[1], serde_json::json!(["limit 3,600 s", "limit 3,600 s"]));
    let words = result[2].as_str().expect("a sentence");
    assert!(words.starts_with("Compared runs: 3. ") && words.contains("and both the same in 0"), "{words}");
    assert_eq!(result[3], "#a=depth-first&b=walk&what=time&in=StateSpace");
    assert_eq!(result[4], 3);
}

#[test]
fn a_picture_follows_the_filter_of_its_table() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    let steps = "const shown = async filter => {
             const field = all('.filter')[0];
             field.value = filter;
             field.dispatchEvent(new Event('input'));
             await wait();
             await wait();
             return [all('.chart svg title')[0].textContent, ...all('.chart svg text').map(text => text.textContent).filter(text => text.startsWith('breadth-first: '))];
         };
         const found = [await shown(''), await shown('000005')];
         const kinds = [...all('#picture-1')[0].options].map(option => option.value);
         for (const kind of kinds) {
             all('#picture-1')[0].value = kind;
             all('#picture-1')[0].dispatchEvent(new Event('change'));
             await wait();
             await wait();
             found.push([kind, all('.chart svg').length, all('.chart svg path').every(path => !path.getAttribute('d').includes('NaN'))]);
         }
         // The browser would wait for the end of a download.
         all('.chart a').forEach(link => { link.addEventListener('click', event => event.preventDefault()); link.click(); });
         return [...found, location.hash, all('.chart a').map(link => [link.download, link.href.startsWith('blob:')])];";
    let result = result_of(&chromium, &site, "examinations/CTLCardinality.html", "#picture=solved", steps);
    assert_eq!(result[0][0], "Right values by CPU time of the run, 3 rows");
    assert_eq!(result[1][0], "Right values by CPU time of the run, 1 row with “000005”");
    let count = |shown: &serde_json::Value| {
        let text = shown[1].as_str().unwrap_or_else(|| panic!("{result}"));
        text.rsplit(' ')
            .next()
            .and_then(|count| count.parse::<u32>().ok())
            .unwrap_or_else(|| panic!("{result}"))
    };
    assert!(count(&result[0]) > count(&result[1]) && count(&result[1]) > 0, "{result}");
    let kinds = ["", "solved", "quantile", "points", "values", "used", "scatter"];
    for (number, kind) in kinds.iter().enumerate() {
        let drawn = u8::from(!kind.is_empty());
        assert_eq!(result[2 + number], serde_json::json!([kind, drawn, true]));
    }
    assert_eq!(result[9], "#filter=000005&picture=scatter");
    let saved = serde_json::json!([["scatter-cpu_ms.svg", true], ["scatter-cpu_ms.csv", true]]);
    assert_eq!(result[10], saved);
}

#[test]
fn the_results_of_a_contest_are_printed_on_one_page() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = dir.path().join("site");
    let threads = NonZeroUsize::new(2).expect("two");
    report::write_site(&contest::full_size(), SiteInput::default(), threads, &site).expect("a site");
    let pages = |page: &str| {
        let pdf = dir.path().join("printed.pdf");
        let print = format!("--print-to-pdf={}", pdf.display());
        open(&chromium, &site.join(page), "", 1280, &["--no-pdf-header-footer", &print]);
        let pdf = fs::read(&pdf).expect("a PDF");
        String::from_utf8_lossy(&pdf).matches("/Type /Page\n").count()
    };
    assert_eq!(pages("results.html"), 1);
    assert!(pages("index.html") > 1);
}

#[test]
fn no_podium_card_is_cut_in_print() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    // The rules of print apply to a frame of the width and height of A4 landscape within its margins of 11 mm.
    let css = fs::read_to_string(site.join("site.css")).expect("a style sheet");
    assert!(css.contains("@media print {") && css.contains("size: A4 landscape; margin: 11mm"));
    fs::write(site.join("site.css"), css.replace("@media print {", "@media all {")).expect("a style sheet");
    let report = "addEventListener('load', () => parent.postMessage([...document.querySelectorAll('.card')]
        .map(card => [getComputedStyle(card).breakInside, Math.ceil(card.getBoundingClientRect().height)]), '*'));";
    add_scripts(&site, &[("report.js", report)]);
    let page = format!("file://{}", site.join("index.html").display());
    let reports = in_frames(&chromium, dir.path(), &[page], 1039, &[]);
    let cards = reports[0].as_array().expect("cards");
    assert!(cards.len() >= 3, "{reports:?}");
    for card in cards {
        assert_eq!(card[0], "avoid", "{reports:?}");
        assert!(
            card[1].as_u64().is_some_and(|height| height < 710),
            "a card is higher than a page: {reports:?}"
        );
    }
}

/// Sends the width of the page and the findings of `axe`, if it is loaded, to the surrounding frame.
const REPORT: &str = "addEventListener('load', () => setTimeout(async () => {
  const found = typeof axe === 'undefined' ? [] : (await axe.run(document, { resultTypes: ['violations'] })).violations;
  // Text that is squeezed although a column of its table is empty.
  const isEmpty = table => [...table.rows[0]?.cells ?? []].some((_, at) => at > 0 && table.tBodies[0]?.rows.length > 0
    && [...table.tBodies[0].rows].every(row => row.cells[at] && row.cells[at].textContent === '' && row.cells[at].offsetWidth > 60));
  const isSqueezed = cell => cell.offsetWidth < 160 && cell.offsetHeight > 90;
  const squeezed = innerWidth < 1000 ? [] : [...document.querySelectorAll('table:not(.grid)')].filter(isEmpty)
    .flatMap(table => [...table.querySelectorAll('tbody td')].filter(isSqueezed)).map(cell => cell.textContent);
  const where = of => of.nodes.slice(0, 3).map(node => node.target.join(' ')).join(', ');
  parent.postMessage({
    width: `${document.documentElement.scrollWidth} of ${innerWidth}`,
    squeezed,
    found: found.map(of => `${of.id}: ${where(of)}`),
  }, '*');
}, 500));";

#[test]
fn axe_finds_no_barrier_on_any_page() {
    let Some(chromium) = chromium() else { return };
    let axe = Path::new(env!("CARGO_MANIFEST_DIR")).join("build/axe/node_modules/axe-core/axe.min.js");
    let Ok(axe) = fs::read_to_string(&axe) else {
        return data::missing("no axe-core in build/axe; scripts/setup --tests installs it");
    };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    add_scripts(&site, &[("axe.js", &axe), ("report.js", REPORT)]);
    // This test can fail: the barriers of this page are found.
    let html = fs::read_to_string(site.join("techniques.html")).expect("a page");
    let barred =
        html.replace("<main", "<img src=\"x.png\"><p style=\"color:#888;background:#999\">faint</p><main");
    fs::write(site.join("barred.html"), barred).expect("a page");
    let mut pages = vec![format!("file://{}", site.join("barred.html").display())];
    pages.extend(
        PAGES.map(|(_, page, fragment, _)| format!("file://{}{fragment}", site.join(page).display())),
    );
    for (width, mode) in [(1280, 1), (390, 0)] {
        let colours = format!("--blink-settings=preferredColorScheme={mode}");
        let reports = in_frames(&chromium, dir.path(), &pages, width, &[&colours]);
        let first = reports[0]["found"].to_string();
        assert!(first.contains("image-alt") && first.contains("color-contrast"), "{first}");
        for (page, report) in pages.iter().zip(&reports).skip(1) {
            assert_eq!(report["found"], serde_json::json!([]), "{page} at {width}");
            assert_eq!(report["width"], format!("{width} of {width}"), "{page}");
            assert_eq!(report["squeezed"], serde_json::json!([]), "{page} at {width}");
        }
    }
}

/// Sends the width of the page, of its first picture and of the box of this to the surrounding frame when the picture is there.
const PICTURE: &str = "let closed = true;
const look = () => {
  // The part of a net that a phone shows first can be empty, so its picture is closed there.
  for (const net of document.querySelectorAll('.net:not(.opened)')) {
    closed = !net.open;
    net.open = true;
    net.classList.add('opened');
  }
  const picture = document.querySelector('.net img, .pictures img, .drawing > svg');
  const width = picture?.naturalWidth ?? picture?.width.baseVal.value;
  if (!width) return setTimeout(look, 20);
  const box = picture.parentElement;
  parent.postMessage({
    page: `${document.documentElement.scrollWidth} of ${innerWidth}`,
    full: Math.abs(picture.getBoundingClientRect().width - width) < 3,
    scrolls: box.scrollWidth > box.clientWidth,
    closed,
  }, '*');
};
addEventListener('load', look);";

#[test]
fn the_texts_in_pictures_are_as_large_on_a_phone() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    add_scripts(&site, &[("picture.js", PICTURE)]);
    let pages =
        PAGES.iter().filter(|(name, ..)| ["instance", "value", "run", "pictures", "compare"].contains(name));
    let pages: Vec<String> = pages
        .map(|(_, page, fragment, _)| format!("file://{}{fragment}", site.join(page).display()))
        .collect();
    for report in in_frames(&chromium, dir.path(), &pages, 390, &[]) {
        let expected =
            serde_json::json!({ "page": "390 of 390", "full": true, "scrolls": true, "closed": true });
        assert_eq!(report, expected, "{pages:?}");
    }
}

/// A table as wide as that of the 13 examinations of the MCC, and sections like those of several years.
const WIDE: &str = "<div class='scroll'><table class='figures'><thead><tr><th>Entry</th>HEAD</tr></thead>\
    <tbody><tr><th><a>2024-gold</a> <small>votes only</small></th>CELLS</tr></tbody>\
    <tbody class='bounds'><tr><th>Best virtual tool (computed here)</th>CELLS</tr></tbody></table></div>\
    <div class='columns'><section>wrong values</section><section><span class='rank'>1</span></section></div>";

#[test]
fn tables_of_the_front_pages_fit_a_usual_screen() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    let names = "State|Space Reachability|Deadlock Quasi|Liveness Stable|Marking Liveness OneSafe Upper|Bounds \
                 Reachability|Cardinality Reachability|Fireability CTL|Cardinality CTL|Fireability LTL|Cardinality \
                 LTL|Fireability";
    let head: Vec<_> =
        names.split_whitespace().map(|name| format!("<th>{}</th>", name.replace('|', "<wbr>"))).collect();
    let page = WIDE.replace("HEAD", &head.concat()).replace("CELLS", &"<td>24,879</td>".repeat(head.len()));
    let html = fs::read_to_string(site.join("index.html")).expect("a page");
    fs::write(site.join("wide.html"), html.replace("<main", &format!("<main>{page}</main><main")))
        .expect("a page");
    let report = "addEventListener('load', () => {
        const [box, rank] = ['.scroll', '.columns > section:has(.rank)'].map(place => document.querySelector(place));
        parent.postMessage([box.scrollWidth - box.clientWidth, rank.parentElement.clientWidth - rank.offsetWidth], '*'); });";
    add_scripts(&site, &[("wide.js", report)]);
    let page = format!("file://{}", site.join("wide.html").display());
    assert_eq!(in_frames(&chromium, dir.path(), &[page], 1400, &[])[0], serde_json::json!([0, 0]));
}

/// Takes screenshots for inspection, in target/*/tmp/screenshots.
#[test]
#[ignore = "long: scripts/test --all"]
fn screenshots_of_every_kind_of_page_are_taken() {
    let Some(chromium) = chromium() else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let site = site_of(dir.path());
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).join("screenshots");
    fs::create_dir_all(&pictures).expect("a folder");
    let frame = dir.path().join("frame.html");
    for (name, page, fragment, _) in PAGES {
        for (width, mode) in [(1280, "light"), (390, "dark")] {
            // Chromium's window cannot be as narrow as a phone, but a frame in it can.
            let framed = format!(
                "<!doctype html><style>body{{margin:0}}iframe{{border:0;width:{width}px;height:2600px}}</style>\
                 <iframe src=\"file://{}{fragment}\"></iframe>",
                site.join(page).display()
            );
            fs::write(&frame, framed).expect("a page");
            let picture = pictures.join(format!("{name}-{width}-{mode}.png"));
            let _ = fs::remove_file(&picture);
            let shot = format!("--screenshot={}", picture.display());
            let colours = format!("--blink-settings=preferredColorScheme={}", u8::from(mode == "light"));
            open(&chromium, &frame, "", width.max(500), &[&shot, &colours]);
            assert!(fs::metadata(&picture).expect("a picture").len() > 10_000, "{}", picture.display());
        }
    }
}
