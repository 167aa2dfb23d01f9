// Draws the thread that the address names: t is its number, sort the order of its posts.
"use strict";

const orders = {
  oldest: (a, b) => a.hour - b.hour,
  newest: (a, b) => b.hour - a.hour,
  top: (a, b) => b.votes - a.votes,
  author: (a, b) => a.author.localeCompare(b.author, "en"),
};

function element(name, className, ...children) {
  const node = document.createElement(name);
  node.className = className;
  node.append(...children);
  return node;
}

function link(text, href) {
  const node = element("a", "", text);
  node.href = href;
  return node;
}

function drawPost(post) {
  const avatar = element("span", "avatar", post.author[0].toUpperCase());
  avatar.style.background = `hsl(${[...post.author].reduce((sum, c) => sum * 7 + c.charCodeAt(0), 0) % 360} 38% 45%)`;
  avatar.setAttribute("aria-hidden", "true");
  const head = element("p", "muted", `${post.author}, ${String(post.hour).padStart(2, "0")}:00`);
  const votes = element("p", "muted", `${post.votes} votes `, link("▲ helpful", `/forum/vote?post=${post.id}&dir=up`));
  return element("article", "post", avatar, element("div", "", head, element("p", "", post.text), votes));
}

function drawThread(thread, board, sort) {
  const choices = Object.keys(orders).map((order) =>
    order === sort ? element("strong", "", order) : link(order, `/forum/thread?t=${thread.id}&sort=${order}`));
  document.title = `${thread.title} - Fix & Grow`;
  return [
    element("p", "muted", board),
    element("h1", "", thread.title),
    element("nav", "sorting", "Sort by ", ...choices.flatMap((choice) => [choice, " "])),
    ...[...thread.posts].sort(orders[sort]).map(drawPost),
  ];
}

const { threads, boards } = JSON.parse(document.getElementById("threads").textContent);
const asked = new URLSearchParams(location.search);
const thread = threads.find((candidate) => String(candidate.id) === asked.get("t"));
const sort = Object.hasOwn(orders, asked.get("sort")) ? asked.get("sort") : "oldest";
document.getElementById("thread").replaceChildren(
  ...(thread
    ? drawThread(thread, boards[thread.board], sort)
    : [element("h1", "", "No such thread"), link("All boards", "/forum/")]));
