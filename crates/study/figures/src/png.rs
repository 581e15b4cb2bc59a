//! A drawing as PNG.

use crate::TooLarge;
use crate::drawing::{Colour, Drawing, Item, Path, Step, Stroke, Text, shifted};
use crate::font;
use miniz_oxide::deflate::compress_to_vec_zlib;
use tiny_skia::{
    FillRule, LineCap, LineJoin, Paint, PathBuilder, Pixmap, PremultipliedColorU8, StrokeDash,
    Transform,
};

/// The most pixels of a picture: 400 MB of memory.
const MOST: f64 = 1e8;
/// How hard pixels are compressed: the usual level of deflate.
const LEVEL: u8 = 6;

/// The file, with so many pixels per inch.
///
/// # Errors
///
/// The picture would have more than 100 million pixels, or none.
pub fn png(drawing: &Drawing, per_inch: f64) -> Result<Vec<u8>, TooLarge> {
    let scale = Drawing::POINTS / 72.0 * per_inch;
    let (width, height) = ((drawing.width * scale).ceil(), (drawing.height * scale).ceil());
    if width * height > MOST {
        return Err(TooLarge { width, height });
    }
    let picture = Pixmap::new(width as u32, height as u32);
    let mut picture = picture.ok_or(TooLarge { width, height })?;
    picture.fill(tiny_skia::Color::WHITE);
    let scale = Transform::from_scale(scale as f32, scale as f32);
    for item in &drawing.items {
        match item {
            Item::Path(path) => draw(&mut picture, path, scale),
            Item::Text(text) => {
                letters(text).iter().for_each(|path| draw(&mut picture, path, scale))
            }
        }
    }
    Ok(encoded(&picture, per_inch))
}

fn draw(picture: &mut Pixmap, path: &Path, scale: Transform) {
    // A path without extent has nothing to draw.
    let Some(outline) = outline(&path.steps) else { return };
    if let Some(fill) = path.fill {
        let paint = paint(fill, path.opacity);
        picture.fill_path(&outline, &paint, FillRule::Winding, scale, None);
    }
    if let Some(line) = &path.stroke {
        picture.stroke_path(&outline, &paint(line.colour, 1.0), &stroke(line), scale, None);
    }
}

fn paint([r, g, b]: Colour, opacity: f64) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(r, g, b, (opacity.clamp(0.0, 1.0) * 255.0).round() as u8);
    paint
}

fn stroke(line: &Stroke) -> tiny_skia::Stroke {
    tiny_skia::Stroke {
        width: line.width as f32,
        line_cap: if line.round { LineCap::Round } else { LineCap::Butt },
        line_join: LineJoin::Round,
        dash: StrokeDash::new(line.dash.iter().map(|length| *length as f32).collect(), 0.0),
        ..tiny_skia::Stroke::default()
    }
}

fn outline(steps: &[Step]) -> Option<tiny_skia::Path> {
    let mut path = PathBuilder::new();
    for step in steps {
        match *step {
            Step::Move(x, y) => path.move_to(x as f32, y as f32),
            Step::Line(x, y) => path.line_to(x as f32, y as f32),
            Step::Curve(points) => {
                let [a, b, c, d, e, f] = points.map(|value| value as f32);
                path.cubic_to(a, b, c, d, e, f);
            }
            Step::Close => path.close(),
        }
    }
    path.finish()
}

/// The outlines of a text.
fn letters(text: &Text) -> Vec<Path> {
    let mut x = text.left();
    let mut out = vec![];
    for letter in text.content.chars() {
        let glyph = font::glyph(letter);
        let steps: Vec<Step> =
            font::outline(glyph).iter().map(|step| sized(step, text.size)).collect();
        let steps = shifted(&steps, x, text.y);
        out.push(Path { steps, fill: Some(text.colour), stroke: None, opacity: 1.0 });
        x += font::advance(glyph) * text.size;
    }
    out
}

fn sized(step: &Step, size: f64) -> Step {
    match *step {
        Step::Move(x, y) => Step::Move(x * size, y * size),
        Step::Line(x, y) => Step::Line(x * size, y * size),
        Step::Curve(points) => Step::Curve(points.map(|value| value * size)),
        Step::Close => Step::Close,
    }
}

/// The PNG file (RFC 2083) with the number of pixels per metre, so that programs show it in its size.
fn encoded(picture: &Pixmap, per_inch: f64) -> Vec<u8> {
    let (width, height) = (picture.width(), picture.height());
    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    // 8 bits of red, green and blue; the only methods of compression, filters and order.
    header.extend([8, 2, 0, 0, 0]);
    let per_metre = (per_inch / 0.0254).round() as u32;
    let mut density = [per_metre.to_be_bytes(), per_metre.to_be_bytes()].concat();
    density.push(1);
    let mut rows = vec![];
    for row in picture.pixels().chunks(width as usize) {
        // No filter: large areas of one colour compress well.
        rows.push(0);
        rows.extend(
            row.iter().flat_map(|pixel: &PremultipliedColorU8| {
                [pixel.red(), pixel.green(), pixel.blue()]
            }),
        );
    }
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    let data = compress_to_vec_zlib(&rows, LEVEL);
    for (kind, content) in
        [(b"IHDR", &header), (b"pHYs", &density), (b"IDAT", &data), (b"IEND", &vec![])]
    {
        out.extend((content.len() as u32).to_be_bytes());
        let from = out.len();
        out.extend(kind);
        out.extend(content);
        let check = crc32(&out[from..]);
        out.extend(check.to_be_bytes());
    }
    out
}

/// The check sum of PNG (RFC 2083, 15).
fn crc32(bytes: &[u8]) -> u32 {
    let shifted = |crc: u32| if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 };
    let table: [u32; 256] = std::array::from_fn(|n| (0..8).fold(n as u32, |crc, _| shifted(crc)));
    let add = |crc: u32, byte: &u8| table[((crc ^ u32::from(*byte)) & 0xff) as usize] ^ (crc >> 8);
    !bytes.iter().fold(u32::MAX, add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_sum_is_that_of_png() {
        // RFC 2083's polynomial on the usual test text.
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }
}
