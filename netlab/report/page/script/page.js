/* Reactions to clicks, keys, scrolling and printing, anywhere on the page. */
function turn() {
  const root = document.documentElement;
  const dark = root.classList.contains("dark") || (!root.classList.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
  root.classList.toggle("dark", !dark);
  root.classList.toggle("light", dark);
}

/* For printing, the folded parts that a report needs are unfolded, and folded again afterwards. */
const ON_PAPER = "details.about, :is([aria-labelledby=hosts], [aria-labelledby=settings]) details";
let unfolded = [];

addEventListener("beforeprint", () => {
  unfolded = [...document.querySelectorAll(ON_PAPER)].filter((each) => !each.open);
  for (const each of unfolded) each.open = true;
});
addEventListener("afterprint", () => {
  for (const each of unfolded) each.open = false;
  unfolded = [];
});

/* The table of contents marks the current section: the last one whose heading is in the upper third
   of the window or above. */
const CONTENTS = [...document.querySelectorAll("nav a")].map((link) => [link, document.getElementById(link.hash.slice(1))]);
let looking = false;

function markPresent() {
  looking = false;
  const above = CONTENTS.filter(([, head]) => head?.getBoundingClientRect().top < innerHeight / 3);
  const present = above.at(-1)?.[0];
  for (const [link] of CONTENTS) {
    if (link === present) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

document.addEventListener("scroll", () => {
  if (!looking) requestAnimationFrame(markPresent);
  looking = true;
}, { passive: true });

document.addEventListener("click", (event) => {
  const button = event.target.closest("button, .drawing [data-cell]");
  if (button?.dataset.scheme !== undefined) turn();
  else if (button?.classList.contains("sort")) sort(button.parentElement);
  else if (button?.dataset.cell) show(Number(button.dataset.cell));
  else if (button?.dataset.step) show(shown + Number(button.dataset.step));
  else if (button?.dataset.close !== undefined || event.target === dialog) dialog.close();
});
document.addEventListener("focusin", (event) => {
  if (event.target.matches?.("table button[data-cell]")) stopAt(event.target);
});
document.addEventListener("keydown", (event) => {
  const step = STEPS[event.key];
  const plain = !(event.ctrlKey || event.altKey || event.metaKey || event.shiftKey);
  if (!step || !plain || !event.target.matches?.("table button[data-cell]")) return;
  event.preventDefault();
  neighbour(event.target, step)?.focus();
});
for (const each of document.querySelectorAll("table"))
  each.querySelector("button[data-cell]")?.setAttribute("tabindex", "0");
document.documentElement.classList.add("live");
