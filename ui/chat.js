// Runs once for the source panel: `element` is the panel, `trigger` tells Python, `watch` follows its content.
const narrow = () => window.matchMedia("(max-width: 900px)").matches;

const chosen = (key) => {
  document.querySelectorAll("button[name=cite]").forEach((button) => {
    button.classList.toggle("chosen", button.value === key);
  });
};

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[name=cite]");
  if (button) {
    chosen(button.value);
    trigger("select", { key: button.value });
    if (narrow()) document.querySelector("#panel").scrollIntoView({ behavior: "smooth" });
    return;
  }
  const page = event.target.closest(".q-page");
  if (page && page.querySelector("img")) {
    page.classList.toggle("large");
    toHighlight(page);
  }
});

let shown = "";
const toHighlight = (page) => {
  const image = page.querySelector("img");
  const mark = page.querySelector("mark");
  if (mark) {
    const below = mark.getBoundingClientRect().top - page.getBoundingClientRect().top;
    page.scrollTop = Math.max(0, page.scrollTop + below - page.clientHeight / 3);
  }
  if (!image) return;
  const move = () => {
    page.scrollTop = Math.max(0, Number(page.dataset.top) * image.offsetHeight - page.clientHeight / 3);
  };
  if (image.complete) move();
  else image.addEventListener("load", move, { once: true });
};

const opened = () => {
  const page = element.querySelector(".q-page");
  const key = page ? page.dataset.key : "";
  if (!page || key === shown) return;
  shown = key;
  page.classList.remove("large");
  requestAnimationFrame(() => toHighlight(page));
  chosen(key.split("/")[0]);
};
watch("value", opened);
opened(); // the panel is first drawn when its tab is first shown, with its content there already
