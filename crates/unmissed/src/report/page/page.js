"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  document.querySelectorAll(".needs-script").forEach((element) => { element.hidden = false; });
  document.querySelectorAll(".without-script").forEach((element) => { element.hidden = true; });

  // Theme: what the system says, until the button is pressed.
  const root = document.documentElement, theme = $("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const showTheme = () => { theme.setAttribute("aria-pressed", String(isDark())); redraw(); };
  theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; showTheme(); });
  system.addEventListener("change", () => showTheme());

  // Tables: a button in each heading; numbers first descending, words first ascending.
  document.querySelectorAll("table.sortable").forEach((table) => {
    const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const number = head.classList.contains("n");
        const before = head.getAttribute("aria-sort");
        const up = before ? before === "descending" : !number;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const key = (row) => {
          const cell = row.cells[column];
          if ("sort" in cell.dataset) return Number(cell.dataset.sort);
          const text = cell.textContent.trim();
          return number ? (parseFloat(text) || -Infinity) : text;
        };
        const order = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
        const rows = [...body.rows].map((row, place) => [key(row), place, row]);
        rows.sort((a, b) => (up ? order(a[0], b[0]) : order(b[0], a[0])) || a[1] - b[1]);
        rows.forEach(([, , row]) => body.append(row));
        body.querySelectorAll("tr.new").forEach((row) => row.classList.remove("new"));
      });
    });
  });

  // The explorer: unbiased scores from hits by training count.
  let redraw = () => {};
  const source = $("tallies");
  if (!source) { showTheme(); return; }
  const data = JSON.parse(source.textContent);
  $("download-json").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(data)], { type: "application/json" }));
    link.download = "tallies.json";
    link.click();
    URL.revokeObjectURL(link.href);
  });

  // A label that was never seen counts as half a positive.
  const seen = data.counts.map((count) => Math.max(count, 0.5));
  const jpv = (a, b) => seen.map((count) => 1 + (Math.log(data.n) - 1) * Math.pow((b + 1) / (count + b), a));
  const power = (gamma) => seen.map((count) => 1 / Math.min(1, Math.pow(count / data.largest, gamma)));
  const complete = seen.map(() => 1);
  // Gains of each count at k: hits weighed by the discount of their rank.
  const gains = (model, k, metric) => {
    const discount = (rank) => (metric === "ndcg" ? 1 / Math.log2(rank + 2) : 1);
    let scale = 0;
    for (let rank = 0; rank < k; rank++) scale += discount(rank);
    const sum = new Float64Array(seen.length);
    model.hits.slice(0, k).forEach((hits, rank) => hits.forEach((count, place) => { sum[place] += count * discount(rank); }));
    return sum.map((gain) => gain / (data.rows * scale));
  };
  const score = (gain, inverse) => gain.reduce((sum, value, place) => (value ? sum + value * inverse[place] : sum), 0);
  // At most four digits that mean something.
  const percent = (value) => {
    const fixed = (100 * value).toFixed(2);
    return fixed.replace(/[^0-9]/g, "").replace(/^0+/, "").length <= 4 ? fixed : String(Number((100 * value).toPrecision(4)).toFixed(Math.abs(value) < 10 ? 1 : 0));
  };
  // Scores under propensities that were measured label by label: hits by rank are weighed already.
  const measured = data.models[0].measured ? data.models[0].measured.map(([name]) => name) : [];
  const weighed = (model, which, k, metric) => {
    const discount = (rank) => (metric === "ndcg" ? 1 / Math.log2(rank + 2) : 1);
    let [sum, scale] = [0, 0];
    for (let rank = 0; rank < k; rank++) {
      sum += model.measured[which][1][rank] * discount(rank);
      scale += discount(rank);
    }
    return sum / (data.rows * scale);
  };
  const places = (values) => values.map((value) => 1 + values.filter((other) => other > value).length);

  const input = (id) => Number($(id).value);
  const body = $("live-table").tBodies[0];
  data.models.forEach((model) => {
    const row = body.insertRow();
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = model.name;
    row.append(head);
    for (let i = 0; i < 3 + measured.length; i++) row.insertCell().className = "n";
  });
  measured.forEach((name) => {
    const head = document.createElement("th");
    head.scope = "col";
    head.className = "n";
    head.textContent = `${name} (measured)`;
    $("live-table").tHead.rows[0].append(head);
  });
  const first = (values) => {
    const best = Math.max(...values), names = data.models.filter((_, place) => values[place] === best).map((model) => model.name);
    return names.join(" and ");
  };
  const update = () => {
    const [a, b, gamma, k, metric] = [input("a"), input("b"), input("gamma"), input("k"), $("metric").value];
    $("a-value").textContent = a.toFixed(2);
    $("b-value").textContent = b.toFixed(2);
    $("gamma-value").textContent = gamma.toFixed(2);
    $("k-value").textContent = String(k);
    const gain = data.models.map((model) => gains(model, k, metric));
    const columns = [complete, jpv(a, b), power(gamma)].map((inverse) => gain.map((one) => score(one, inverse)));
    measured.forEach((_, which) => columns.push(data.models.map((model) => weighed(model, which, k, metric))));
    columns.forEach((values, column) => {
      const place = places(values);
      values.forEach((value, row) => {
        const cell = body.rows[row].cells[column + 1];
        cell.textContent = `${percent(value)} (${place[row]})`;
        cell.className = value > 1 ? "impossible" : place[row] === 1 && values.length > 1 ? "first" : "n";
      });
    });
    const name = `${metric}@${k}`;
    $("live").textContent = data.models.length > 1
      ? `${name}: observed, ${first(columns[0])} is first; with JPV's a = ${a.toFixed(2)}, b = ${b.toFixed(2)}, ${first(columns[1])}; with power γ = ${gamma.toFixed(2)}, ${first(columns[2])}${measured.map((one, which) => `; with ${one}, which was measured, ${first(columns[3 + which])}`).join("")}.`
      : `${name}: ${percent(columns[0][0])} % observed, ${percent(columns[1][0])} % with JPV, ${percent(columns[2][0])} % with power${measured.map((one, which) => `, ${percent(columns[3 + which][0])} % with ${one}, which was measured`).join("")}.`;
    redraw();
  };

  // The map of a and b, on a canvas in place of the static drawing.
  const box = document.querySelector("#map .drawing");
  if (box && data.map) {
    const canvas = document.createElement("canvas");
    canvas.setAttribute("role", "img");
    const still = box.querySelector("svg");
    still.setAttribute("hidden", "");
    still.style.display = "none";
    box.append(canvas);
    const place = (name) => data.models.findIndex((model) => model.name === name);
    const pair = [place(data.map.first), place(data.map.second)];
    ["first", "second"].forEach((id, which) => {
      const select = $(id);
      if (!select) return;
      data.models.forEach((model, index) => select.add(new Option(model.name, String(index), false, index === pair[which])));
      select.addEventListener("change", () => { pair[which] = Number(select.value); redraw(); });
    });
    const size = [460, 372], [left, right, top, bottom] = [48, 450, 54, 326];
    const [columns, rows] = [data.map.columns, data.map.rows];
    const [width, height] = [(right - left) / columns, (bottom - top) / rows];
    const across = (a) => left + width * (0.5 + (a / data.most[0]) * (columns - 1));
    const up = (b) => bottom - height * (0.5 + (b / data.most[1]) * (rows - 1));
    let known = "", cells = [];
    redraw = () => {
      const [k, metric] = [input("k"), $("metric").value];
      const wanted = [k, metric, ...pair].join();
      if (wanted !== known) {
        known = wanted;
        const gain = pair.map((model) => gains(data.models[model], k, metric));
        const difference = gain[0].map((value, i) => value - gain[1][i]);
        cells = [];
        for (let row = 0; row < rows; row++) {
          for (let column = 0; column < columns; column++) {
            cells.push(score(difference, jpv((data.most[0] * column) / (columns - 1), (data.most[1] * row) / (rows - 1))));
          }
        }
      }
      const ratio = Math.max(1, window.devicePixelRatio || 1);
      [canvas.width, canvas.height] = size.map((length) => Math.round(length * ratio));
      const pen = canvas.getContext("2d"), style = getComputedStyle(root);
      const colour = (name) => style.getPropertyValue(name).trim();
      pen.scale(ratio, ratio);
      pen.font = "12px system-ui, sans-serif";
      // One pixel a cell, then enlarged without smoothing: no seams.
      const small = document.createElement("canvas");
      [small.width, small.height] = [columns, rows];
      const fine = small.getContext("2d");
      const largest = Math.max(...cells.map(Math.abs)) || 1;
      cells.forEach((value, index) => {
        fine.globalAlpha = 0.15 + 0.6 * (Math.min(5, Math.max(1, Math.ceil((Math.abs(value) / largest) * 5))) / 5);
        fine.fillStyle = colour(value < 0 ? "--c1" : "--c0");
        fine.fillRect(index % columns, rows - 1 - Math.floor(index / columns), 1, 1);
      });
      pen.imageSmoothingEnabled = false;
      pen.drawImage(small, left, top, right - left, bottom - top);
      const text = (words, x, y, align, name = "--ink") => {
        pen.fillStyle = colour(name);
        pen.textAlign = align;
        pen.fillText(words, x, y, 400);
      };
      pen.globalAlpha = 1;
      pair.forEach((model, which) => {
        pen.globalAlpha = 0.75;
        pen.fillStyle = colour(`--c${which}`);
        pen.fillRect(left, 4 + 20 * which, 12, 12);
        pen.globalAlpha = 1;
        text(`${data.models[model].name} is ahead`, left + 18, 14 + 20 * which, "left");
      });
      pen.strokeStyle = colour("--muted");
      pen.beginPath(); pen.moveTo(left, top); pen.lineTo(left, bottom); pen.lineTo(right, bottom); pen.stroke();
      for (let a = 0; a <= data.most[0]; a += 0.5) text(String(a), across(a), bottom + 17, "center", "--muted");
      for (let b = 0; b <= data.most[1]; b += 2) text(String(b), left - 7, up(b) + 4, "right", "--muted");
      text("a", (left + right) / 2, size[1] - 10, "center");
      text("b", 14, (top + bottom) / 2, "center");
      const mark = (a, b, radius, fill) => {
        pen.beginPath(); pen.arc(across(a), up(b), radius, 0, 2 * Math.PI);
        pen.fillStyle = colour(fill); pen.fill(); pen.strokeStyle = colour("--ink"); pen.lineWidth = 1.5; pen.stroke();
      };
      data.presets.forEach(([name, a, b]) => { mark(a, b, 4.5, "--paper"); text(name, across(a) + 9, up(b) + 4, "left"); });
      mark(input("a"), input("b"), 5.5, "--error");
      const share = cells.filter((value) => value < 0).length / cells.length;
      canvas.setAttribute("aria-label", `Map of a and b: ${data.models[pair[1]].name} is ahead of ${data.models[pair[0]].name} on ${Math.round(100 * share)} % of it.`);
    };
    canvas.addEventListener("click", (event) => {
      const bounds = canvas.getBoundingClientRect();
      const [x, y] = [((event.clientX - bounds.left) * size[0]) / bounds.width, ((event.clientY - bounds.top) * size[1]) / bounds.height];
      const clamp = (value, most) => Math.min(most, Math.max(0, value));
      $("a").value = String(clamp((((x - left) / width - 0.5) / (columns - 1)) * data.most[0], data.most[0]));
      $("b").value = String(clamp((((bottom - y) / height - 0.5) / (rows - 1)) * data.most[1], data.most[1]));
      update();
    });
  }
  document.querySelectorAll(".preset").forEach((button) => button.addEventListener("click", () => {
    $("a").value = button.dataset.a;
    $("b").value = button.dataset.b;
    update();
  }));
  $("controls").addEventListener("input", update);
  $("controls").addEventListener("submit", (event) => event.preventDefault());
  update();
  showTheme();
})();
