// Makes a PNG of a browser small: its colours become a palette of at most 128.

import { deflateSync, inflateSync } from "node:zlib";

const COLOURS_MAX = 128;
const SIGNATURE = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);

/** The same picture with a palette. */
export function small(png) {
  const { width, height, pixels } = decoded(png);
  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const palette = [...counts].sort((one, other) => other[1] - one[1]).slice(0, COLOURS_MAX).map(([colour]) => colour);
  const nearest = new Map();
  const place = (pixel) => {
    let best = nearest.get(pixel);
    if (best === undefined) nearest.set(pixel, (best = nearestOf(palette, pixel)));
    return best;
  };
  const rows = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y += 1) for (let x = 0; x < width; x += 1) rows[y * (width + 1) + 1 + x] = place(pixels[y * width + x]);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  return Buffer.concat([SIGNATURE, chunk("IHDR", header), chunk("PLTE", colours), chunk("IDAT", deflateSync(rows, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

function nearestOf(palette, pixel) {
  let [best, least] = [0, Infinity];
  palette.forEach((colour, index) => {
    const [r, g, b] = [(colour >> 16) - (pixel >> 16), ((colour >> 8) & 255) - ((pixel >> 8) & 255), (colour & 255) - (pixel & 255)];
    const distance = r * r + g * g + b * b;
    if (distance < least) [best, least] = [index, distance];
  });
  return best;
}

/** Pixels of a PNG with 8 bits each of red, green, blue, and perhaps alpha, which is left out. */
function decoded(png) {
  const data = [];
  let header = null;
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const type = png.toString("latin1", at + 4, at + 8);
    const body = png.subarray(at + 8, at + 8 + length);
    if (type === "IHDR") header = body;
    if (type === "IDAT") data.push(body);
    at += length + 12;
  }
  const [width, height, bits, kind, , , interlace] = [header.readUInt32BE(0), header.readUInt32BE(4), ...header.subarray(8)];
  if (bits !== 8 || ![2, 6].includes(kind) || interlace !== 0) throw new Error(`a PNG of another kind: ${bits} bits, ${kind}, ${interlace}`);
  const bytes = kind === 6 ? 4 : 3;
  const rows = inflateSync(Buffer.concat(data));
  const stride = width * bytes;
  const pixels = new Uint32Array(width * height);
  let above = Buffer.alloc(stride);
  for (let y = 0; y < height; y += 1) {
    const filter = rows[y * (stride + 1)];
    const row = Buffer.from(rows.subarray(y * (stride + 1) + 1, (y + 1) * (stride + 1)));
    for (let x = 0; x < stride; x += 1) {
      const [left, up, corner] = [x < bytes ? 0 : row[x - bytes], above[x], x < bytes ? 0 : above[x - bytes]];
      row[x] += [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter];
    }
    for (let x = 0; x < width; x += 1) pixels[y * width + x] = (row[x * bytes] << 16) | (row[x * bytes + 1] << 8) | row[x * bytes + 2];
    above = row;
  }
  return { width, height, pixels };
}

function paeth(left, up, corner) {
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

const TABLE = Array.from({ length: 256 }, (_, byte) => {
  let sum = byte;
  for (let bit = 0; bit < 8; bit += 1) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  return sum >>> 0;
});

function chunk(type, body) {
  const named = Buffer.concat([Buffer.from(type, "latin1"), body]);
  let sum = 0xffffffff;
  for (const byte of named) sum = TABLE[(sum ^ byte) & 255] ^ (sum >>> 8);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(body.length);
  check.writeUInt32BE((sum ^ 0xffffffff) >>> 0);
  return Buffer.concat([length, named, check]);
}
