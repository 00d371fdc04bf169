//! Curves over depth, as SVG: two panels in a row, y-axes logarithmic and with a common scale.

use std::error::Error;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

/// One strategy.
pub struct Curve {
    /// For the legend.
    pub name: String,
    /// Depth and value, which is above 0. No point: neither drawn nor in the legend.
    pub points: Vec<(u32, f64)>,
}

/// One drawing area.
pub struct Panel {
    /// Above it.
    pub title: String,
    /// Where the x-axis ends.
    pub deepest: u32,
    /// The same strategies have the same places in all panels, so that they have the same colours.
    pub curves: Vec<Curve>,
}

/// Width of the picture, height of a row of it.
const SIZE: (u32, u32) = (1_100, 460);
const PANELS_IN_A_ROW: usize = 2;
const FONT: &str = "sans-serif";
/// Colours that differ in lightness, too (Okabe and Ito).
const COLOURS: [RGBColor; 6] = [
    RGBColor(213, 94, 0),
    RGBColor(230, 159, 0),
    RGBColor(0, 114, 178),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
];

/// Writes the picture.
///
/// # Errors
///
/// The file cannot be written.
pub fn draw<'a>(path: &'a Path, y: &str, panels: &[Panel]) -> Result<(), Box<dyn Error + 'a>> {
    let rows = panels.len().div_ceil(PANELS_IN_A_ROW);
    let root = SVGBackend::new(path, (SIZE.0, SIZE.1 * rows as u32)).into_drawing_area();
    root.fill(&WHITE)?;
    let values: Vec<f64> =
        panels.iter().flat_map(|panel| &panel.curves).flat_map(|curve| &curve.points).map(|point| point.1).collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    // Whole powers of ten, so that the axis ends at a label.
    let range = 10_f64.powf(low.log10().floor())..10_f64.powf(high.log10().ceil());
    for (area, panel) in root.split_evenly((rows, PANELS_IN_A_ROW)).iter().zip(panels) {
        draw_panel(area, y, range.clone(), panel)?;
    }
    root.present()?;
    Ok(())
}

fn draw_panel<'a>(
    area: &DrawingArea<SVGBackend<'a>, Shift>,
    y: &str,
    range: std::ops::Range<f64>,
    panel: &Panel,
) -> Result<(), Box<dyn Error + 'a>> {
    let mut chart = ChartBuilder::on(area)
        .margin(14)
        .caption(&panel.title, (FONT, 20))
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d(0..panel.deepest + 1, range.log_scale())?;
    chart
        .configure_mesh()
        .x_desc("bound on depth, in events")
        .y_desc(y)
        .axis_desc_style((FONT, 16))
        .label_style((FONT, 14))
        .light_line_style(WHITE.mix(0.0))
        .bold_line_style(BLACK.mix(0.12))
        .x_labels(12)
        .y_label_formatter(&|value| power_of_ten(*value))
        .draw()?;
    // Smaller from curve to curve, so that two in one place are both seen.
    let sizes = (0..).map(|index| 14 - 2 * index);
    for ((curve, colour), size) in panel.curves.iter().zip(COLOURS).zip(sizes) {
        let points = curve.points.clone();
        match points.as_slice() {
            [] => continue,
            // A strategy without a bound on depth.
            [one] => chart
                .draw_series([TriangleMarker::new(*one, size, colour.filled())])?
                .label(&curve.name)
                .legend(move |(x, y)| TriangleMarker::new((x + 10, y), 6, colour.filled())),
            _ => chart
                .draw_series(LineSeries::new(points, colour.stroke_width(2)).point_size(2))?
                .label(&curve.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(3))),
        };
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .label_font((FONT, 14))
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    Ok(())
}

fn power_of_ten(value: f64) -> String {
    match value {
        small if small < 0.01 => format!("{small:.0e}"),
        middle if middle < 1e4 => format!("{middle}"),
        large => format!("{large:.0e}"),
    }
}
