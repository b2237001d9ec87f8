// A picture card as a PNG, twice as fine as its SVG: mail, word processors and chats show no SVG.

const SCALE = 2;

async function draw({ svg, file }) {
  const image = new Image(), canvas = document.createElement("canvas"), link = document.createElement("a");
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  [canvas.width, canvas.height] = [SCALE * image.naturalWidth, SCALE * image.naturalHeight];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  having(link, { href: canvas.toDataURL("image/png"), download: file });
  link.click();
}

export default function ({ data, parentElement }) {
  parentElement.querySelector(".host").replaceChildren(button("picture", "A picture (PNG)", null, () => draw(data)));
}
