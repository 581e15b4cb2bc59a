fn main() {
    print!("{}", slotline_lab::schema::text());
}
