/** A moving picture of a story: screenshots with a caption and a pointer, as a GIF. */

import * as fs from "node:fs";
import * as path from "node:path";
import gifenc from "gifenc";
import { until } from "./until.mjs";

const { GIFEncoder, applyPalette, quantize } = gifenc;
const COLORS = 256;
const CAPTION_HEIGHT = 44;

export class Film {
  frames = [];

  /** `width`: the width of the film, in pixels; the window is scaled to it. */
  constructor(page, width) {
    this.page = page;
    this.width = width;
  }

  /** Keeps a picture of the window for `ms`, with the pointer over the middle of the element `at`. */
  async frame(caption, ms, at) {
    // An editor's title is drawn again while its file is being opened.
    const box = at && (await until(() => at.first().boundingBox(), `drawn: ${caption}`));
    const pointer = box && { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    await this.frameAt(caption, ms, pointer);
  }

  /** The same, with the pointer at a point of the window. */
  async frameAt(caption, ms, pointer) {
    const png = await this.page.screenshot();
    this.frames.push({ caption, ms, pointer, png: png.toString("base64") });
  }

  /** Writes the GIF, which starts again at its end. */
  async write(file) {
    const canvas = await this.page.context().newPage();
    const gif = GIFEncoder();
    for (const { caption, ms, pointer, png } of this.frames) {
      const drawn = await canvas.evaluate(draw, [
        png,
        caption,
        pointer,
        this.width,
        CAPTION_HEIGHT,
      ]);
      const pixels = new Uint8ClampedArray(Buffer.from(drawn.pixels, "base64"));
      const palette = quantize(pixels, COLORS);
      const { width, height } = drawn;
      gif.writeFrame(applyPalette(pixels, palette), width, height, { palette, delay: ms });
    }
    gif.finish();
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, gif.bytes());
    await canvas.close();
  }
}

/** In the page: the scaled picture with its caption below and the pointer over it. */
async function draw([png, caption, pointer, width, captionHeight]) {
  const picture = new Image();
  picture.src = `data:image/png;base64,${png}`;
  await picture.decode();
  const scale = width / picture.width;
  const height = Math.round(picture.height * scale);
  const canvas = new OffscreenCanvas(width, height + captionHeight);
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(picture, 0, 0, width, height);
  context.fillStyle = "#0b2f5b";
  context.fillRect(0, height, width, captionHeight);
  context.fillStyle = "#ffffff";
  context.font = "20px DejaVu Sans, sans-serif";
  context.textBaseline = "middle";
  context.fillText(caption, 16, height + captionHeight / 2);
  if (pointer) {
    context.translate(pointer.x * scale, pointer.y * scale);
    context.strokeStyle = "#ffcc00";
    context.lineWidth = 3;
    context.beginPath();
    context.arc(0, 0, 16, 0, 2 * Math.PI);
    context.stroke();
    context.fillStyle = "#ffffff";
    context.strokeStyle = "#000000";
    context.lineWidth = 1.5;
    const arrow = new Path2D("M0 0v17l4-4 3 7 3-1.3-3-6.7h6z");
    context.fill(arrow);
    context.stroke(arrow);
  }
  const bytes = context.getImageData(0, 0, width, height + captionHeight).data;
  let text = "";
  const step = 0x8000;
  for (let at = 0; at < bytes.length; at += step) {
    text += String.fromCharCode(...bytes.subarray(at, at + step));
  }
  return { width, height: height + captionHeight, pixels: btoa(text) };
}
