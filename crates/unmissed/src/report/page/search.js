
/* Search fields: a row of a table stays when each word that is typed occurs somewhere in it. */
(() => {
  const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  for (const field of document.querySelectorAll("input[data-search]")) {
    const tables = field.dataset.search.split(" ").map((id) => document.getElementById(id)).filter(Boolean);
    const rows = tables.flatMap((table) => [...table.tBodies[0].rows]);
    const texts = new Map(rows.map((row) => [row, plain(row.textContent)]));
    const found = document.getElementById(field.id + "-found");
    field.addEventListener("input", () => {
      const words = plain(field.value).split(/\s+/).filter(Boolean);
      let kept = 0;
      for (const row of rows) {
        row.hidden = !words.every((word) => texts.get(row).includes(word));
        kept += row.hidden ? 0 : 1;
      }
      found.textContent = words.length ? kept + " of " + rows.length + " lines" : "";
    });
  }
})();
