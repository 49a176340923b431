use super::*;
use resvg::tiny_skia::Pixmap;
use resvg::usvg::roxmltree;

/// All texts of a drawing; fails when it is not well-formed XML.
fn texts(svg: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(svg).unwrap();
    document.descendants().filter(|node| node.is_text()).filter_map(|node| node.text()).map(str::to_owned).collect()
}

fn propensities() -> Chart {
    let count = |i: usize| 1.08f64.powi(i as i32 / 2);
    let value = |i: usize| 1.0 / (1.0 + 20.0 * count(i).powf(-0.7));
    let dots = Series::points("estimated", (0..300).map(|i| (count(i), value(i))))
        .intervals((0..300).map(|i| (value(i) * 0.8, (value(i) * 1.2).min(1.0))));
    Chart::new("Propensities")
        .x("rows with the label", Scale::Log)
        .y("propensity", Scale::Linear)
        .y_covers(0.0, 1.0)
        .series(dots)
        .series(Series::line("jpv", (0..300).map(|i| (count(i), value(i)))))
        .series(Series::steps("steps", (0..300).map(|i| (count(i), value(i) / 2.0))).intervals([(0.1, 0.2)]))
}

#[test]
fn drawings_are_xml_with_every_name_in_them() {
    let names = ["R&D <script>alert(1)</script>", "cost in $ and $x^2$", "\"quoted\" 'too'", "漢字", "bell\u{7}\u{1b}[0m"];
    let mut chart = propensities().caption("5 < 6 & \u{0}more");
    for name in names {
        chart = chart.series(Series::line(name, [(1.0, 0.1), (2.0, 0.2)]));
    }
    let svg = svg(&chart).unwrap();
    let texts = texts(&svg);
    for name in ["Propensities", "estimated", "jpv", "propensity", "5 < 6 & more", "漢字", "bell", "\"quoted\" 'too'"] {
        assert!(texts.iter().any(|text| text == name), "{name}: {texts:?}");
    }
    let all = texts.concat();
    assert!(all.contains("R&D <script>alert(1)</script>") && all.contains("cost in $ and $x^2$"), "{texts:?}");
    assert!(!svg.contains("<script"));
}

/// Two drawings on one page cannot disturb each other when neither has a name in it.
#[test]
fn the_same_chart_is_the_same_bytes_and_nothing_in_it_has_a_name() {
    assert_eq!(svg(&propensities()).unwrap(), svg(&propensities()).unwrap());
    let page = Inline::new(&propensities()).unwrap();
    assert!(!page.svg.contains(" id=") && !page.svg.contains("<style") && !svg(&propensities()).unwrap().contains(" id="));
    assert_eq!(page.legend.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["estimated", "jpv", "steps"]);
}

#[test]
fn pixels_are_as_many_as_asked_for_and_not_blank() {
    for (scale, size) in [(1.0, (800, 500)), (1.5, (1200, 750))] {
        let pixmap = Pixmap::decode_png(&png(&propensities(), scale).unwrap()).unwrap();
        assert_eq!((pixmap.width(), pixmap.height()), size);
        let colors: std::collections::HashSet<[u8; 3]> =
            pixmap.pixels().iter().map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]).collect();
        assert!(colors.len() > 50 && colors.contains(&[0xff; 3]) && colors.contains(&[0xd5, 0x5e, 0x00]));
    }
    assert!(png(&propensities(), 0.0).is_err() && png(&propensities(), f32::NAN).is_err());
}

#[test]
fn text_shows_without_fonts_on_the_machine() {
    let dark = |chart: &Chart| {
        let pixmap = Pixmap::decode_png(&png(chart, 1.0).unwrap()).unwrap();
        // The place of the title.
        let rows = pixmap.pixels()[..800 * 40].iter();
        rows.filter(|pixel| pixel.red() < 128).count()
    };
    let chart = |title: &str| Chart::new(title).series(Series::points("dot", [(1.0, 1.0)]));
    assert!(dark(&chart("A title of some length")) > dark(&chart(".")) + 200);
}

#[test]
fn awkward_points_give_a_chart_or_a_clear_error() {
    let cases: [&[(f64, f64)]; 9] = [
        &[(1.0, 1.0)],
        &[(2.0, 3.0); 50],
        &[(1.0, f64::NAN), (2.0, 5.0), (f64::INFINITY, 1.0)],
        &[(1e-300, 1e-250), (1e-290, 1e-240)],
        &[(1.0, 1e300), (1e9, 1e-300)],
        &[(5e-324, 1.0), (1.0, 2.0)],
        &[(0.0, 0.0), (-1.0, -2.0), (1.0, 2.0)],
        &[(1e15, 1e15 + 1.0), (1e15 + 2.0, 1e15)],
        &[(f64::MIN, f64::MAX), (f64::MAX, f64::MIN)],
    ];
    for points in cases {
        for scale in [Scale::Linear, Scale::Log] {
            for series in [Series::line, Series::points, Series::steps] as [fn(_, Vec<(f64, f64)>) -> Series; 3] {
                let wild = points.iter().map(|point| (point.1 / 2.0, f64::NAN));
                let series = series("s", points.to_vec()).intervals(wild);
                let chart = Chart::new("c").x("x", scale).y("y", scale).series(series);
                match svg(&chart) {
                    Ok(svg) => assert!(!svg.contains("NaN") && !svg.contains("inf") && !texts(&svg).is_empty(), "{points:?}"),
                    Err(error) => {
                        let clear = ["too large to be drawn", "no points to draw"];
                        assert!(clear.iter().any(|words| error.to_string().contains(words)), "{points:?}: {error}");
                    }
                }
            }
        }
    }
    for points in [vec![], vec![(f64::NAN, 1.0)], vec![(0.0, 1.0)]] {
        let chart = Chart::new("c").x("x", Scale::Log).series(Series::line("s", points)).series(Series::points("e", []));
        assert!(svg(&chart).unwrap_err().to_string().starts_with("the chart 'c' has no points to draw"));
    }
}

#[test]
fn what_cannot_be_shown_is_counted() {
    let points = [(1.0, 1.0), (0.0, 1.0), (-1.0, 2.0), (2.0, f64::NAN), (3.0, 2.0)];
    let chart = Chart::new("c").x("x", Scale::Log).series(Series::points("s", points)).caption("Well.");
    assert!(texts(&svg(&chart).unwrap()).contains(&"Well. 3 points cannot be shown on these axes.".to_owned()));
}

#[test]
fn legends_of_any_size_fit() {
    let mut chart = Chart::new("title ".repeat(1000));
    for index in 0..40 {
        chart = chart.series(Series::line("long name ".repeat(index * 100), [(1.0, 1.0), (2.0, index as f64)]));
    }
    let pixmap = Pixmap::decode_png(&png(&chart, 0.5).unwrap()).unwrap();
    assert_eq!((pixmap.width(), pixmap.height()), (400, 2000));
}

#[test]
fn very_many_points_make_a_small_file() {
    let points = (1..=300_000).map(|rank| (f64::from(rank), (1e6 / f64::from(rank)).ceil()));
    let chart = Chart::new("ranks").x("rank", Scale::Log).y("count", Scale::Log).series(Series::line("s", points));
    assert!(svg(&chart).unwrap().len() < 100_000);
}
