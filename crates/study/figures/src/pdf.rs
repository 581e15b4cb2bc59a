//! A drawing as PDF with one page of its size. The font is embedded, and its text can be searched.

use crate::drawing::{Colour, Drawing, Item, Path, Step, Text};
use crate::font;
use miniz_oxide::deflate::compress_to_vec_zlib;
use pdf_writer::types::{
    CidFontType, FontFlags, LineCapStyle, LineJoinStyle, SystemInfo, UnicodeCmap,
};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str, TextStr};
use std::collections::BTreeMap;

const CATALOG: Ref = Ref::new(1);
const PAGES: Ref = Ref::new(2);
const PAGE: Ref = Ref::new(3);
const CONTENT: Ref = Ref::new(4);
const FONT: Ref = Ref::new(5);
const CID_FONT: Ref = Ref::new(6);
const DESCRIPTOR: Ref = Ref::new(7);
const TO_UNICODE: Ref = Ref::new(8);
const FONT_FILE: Ref = Ref::new(9);
const INFO: Ref = Ref::new(10);
/// The first of the objects that set an opacity.
const OPACITIES: i32 = 11;

const SYSTEM: SystemInfo<'_> =
    SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };
/// How hard streams are compressed: the usual level of deflate.
const LEVEL: u8 = 6;

/// The file, for which `title` is the name of the document.
pub fn pdf(drawing: &Drawing, title: &str) -> Vec<u8> {
    let mut page = PageContent::default();
    let content = page.write(drawing);
    let mut pdf = Pdf::new();
    pdf.catalog(CATALOG).pages(PAGES);
    pdf.pages(PAGES).kids([PAGE]).count(1);
    write_page(&mut pdf, drawing, &page.opacities);
    let content = compress_to_vec_zlib(&content, LEVEL);
    pdf.stream(CONTENT, &content).filter(Filter::FlateDecode);
    write_font(&mut pdf, &page);
    let mut info = pdf.document_info(INFO);
    info.title(TextStr(title)).creator(TextStr("Slotline"));
    info.finish();
    for (at, permille) in page.opacities.iter().enumerate() {
        let alpha = f32::from(*permille) / 1000.0;
        pdf.ext_graphics(Ref::new(OPACITIES + at as i32)).non_stroking_alpha(alpha);
    }
    pdf.finish()
}

fn write_page(pdf: &mut Pdf, drawing: &Drawing, opacities: &[u16]) {
    let points = |units: f64| (units * Drawing::POINTS) as f32;
    let mut page = pdf.page(PAGE);
    page.parent(PAGES).contents(CONTENT);
    page.media_box(Rect::new(0.0, 0.0, points(drawing.width), points(drawing.height)));
    let mut resources = page.resources();
    resources.fonts().pair(Name(b"F"), FONT);
    let mut states = resources.ext_g_states();
    for (at, permille) in opacities.iter().enumerate() {
        states.pair(Name(opacity_name(*permille).as_bytes()), Ref::new(OPACITIES + at as i32));
    }
}

fn opacity_name(permille: u16) -> String {
    format!("O{permille}")
}

/// The operators of a page, and what they refer to.
#[derive(Default)]
struct PageContent {
    /// The letters that are used, by their glyph.
    letters: BTreeMap<u16, char>,
    opacities: Vec<u16>,
}

impl PageContent {
    fn write(&mut self, drawing: &Drawing) -> Vec<u8> {
        let mut content = Content::new();
        let scale = Drawing::POINTS as f32;
        let top = (drawing.height * Drawing::POINTS) as f32;
        // Positions count from the top, as in SVG.
        content.transform([scale, 0.0, 0.0, -scale, 0.0, top]);
        content.set_line_join(LineJoinStyle::RoundJoin);
        for item in &drawing.items {
            match item {
                Item::Path(path) => self.path(&mut content, path),
                Item::Text(text) => self.text(&mut content, text),
            }
        }
        content.finish().to_vec()
    }

    fn path(&mut self, content: &mut Content, path: &Path) {
        content.save_state();
        if path.opacity < 1.0 {
            let permille = (path.opacity * 1000.0).round() as u16;
            if !self.opacities.contains(&permille) {
                self.opacities.push(permille);
            }
            content.set_parameters(Name(opacity_name(permille).as_bytes()));
        }
        if let Some(stroke) = &path.stroke {
            let [r, g, b] = shares(stroke.colour);
            content.set_stroke_rgb(r, g, b).set_line_width(stroke.width as f32);
            content.set_dash_pattern(stroke.dash.iter().map(|length| *length as f32), 0.0);
            if stroke.round {
                content.set_line_cap(LineCapStyle::RoundCap);
            }
        }
        if let Some(fill) = path.fill {
            let [r, g, b] = shares(fill);
            content.set_fill_rgb(r, g, b);
        }
        path.steps.iter().for_each(|step| write_step(content, step));
        match (path.fill, &path.stroke) {
            (Some(_), Some(_)) => content.fill_nonzero_and_stroke(),
            (Some(_), None) => content.fill_nonzero(),
            _ => content.stroke(),
        };
        content.restore_state();
    }

    fn text(&mut self, content: &mut Content, text: &Text) {
        let [r, g, b] = shares(text.colour);
        let mut codes = vec![];
        for letter in text.content.chars() {
            let code = font::glyph(letter).0;
            self.letters.entry(code).or_insert(letter);
            codes.extend(code.to_be_bytes());
        }
        content.set_fill_rgb(r, g, b).begin_text();
        content.set_font(Name(b"F"), text.size as f32);
        content.set_text_matrix([1.0, 0.0, 0.0, -1.0, text.left() as f32, text.y as f32]);
        content.show(Str(&codes)).end_text();
    }
}

fn shares(colour: Colour) -> [f32; 3] {
    colour.map(|part| f32::from(part) / 255.0)
}

fn write_step(content: &mut Content, step: &Step) {
    match *step {
        Step::Move(x, y) => content.move_to(x as f32, y as f32),
        Step::Line(x, y) => content.line_to(x as f32, y as f32),
        Step::Curve(points) => {
            let [a, b, c, d, e, f] = points.map(|value| value as f32);
            content.cubic_to(a, b, c, d, e, f)
        }
        Step::Close => content.close_path(),
    };
}

/// The font (ISO 32000-1, 9.7: a composite font). It is small, so all of it is embedded.
fn write_font(pdf: &mut Pdf, page: &PageContent) {
    let name = Name(font::NAME.as_bytes());
    pdf.type0_font(FONT)
        .base_font(name)
        .encoding_predefined(Name(b"Identity-H"))
        .descendant_font(CID_FONT)
        .to_unicode(TO_UNICODE);
    let mut cid = pdf.cid_font(CID_FONT);
    cid.subtype(CidFontType::Type2).base_font(name).system_info(SYSTEM);
    cid.font_descriptor(DESCRIPTOR).default_width(0.0).cid_to_gid_map_predefined(Name(b"Identity"));
    let width = |glyph: u16| (font::advance(ttf_parser::GlyphId(glyph)) * 1000.0) as f32;
    cid.widths().consecutive(0, (0..font::face().number_of_glyphs()).map(width));
    cid.finish();
    write_descriptor(pdf, name);
    let mut letters = UnicodeCmap::new(Name(b"Custom"), SYSTEM);
    page.letters.iter().for_each(|(code, letter)| letters.pair(*code, *letter));
    pdf.cmap(TO_UNICODE, &letters.finish());
    let compressed = compress_to_vec_zlib(font::FILE, LEVEL);
    pdf.stream(FONT_FILE, &compressed).filter(Filter::FlateDecode);
}

fn write_descriptor(pdf: &mut Pdf, name: Name<'_>) {
    let face = font::face();
    let em = f32::from(face.units_per_em());
    let thousandths = |units: i16| f32::from(units) / em * 1000.0;
    let bounds = face.global_bounding_box();
    let [left, bottom, right, top] =
        [bounds.x_min, bounds.y_min, bounds.x_max, bounds.y_max].map(thousandths);
    pdf.font_descriptor(DESCRIPTOR)
        .name(name)
        .flags(FontFlags::NON_SYMBOLIC)
        .bbox(Rect::new(left, bottom, right, top))
        .italic_angle(0.0)
        .ascent(thousandths(face.ascender()))
        .descent(thousandths(face.descender()))
        .cap_height(thousandths(face.capital_height().unwrap_or(0)))
        .stem_v(80.0)
        .font_file2(FONT_FILE);
}
