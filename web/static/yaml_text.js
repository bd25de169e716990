// YAML that somebody writes: its numbered lines, and what is wrong in it, for plans and inventories alike.
"use strict";
{
  /** The parts of a page around the text. tell() shows faults, and calls show(problem) for one that is clicked; select() goes to a line. */
  rackproof.yamlText = (text) => {
    const gutter = document.getElementById("gutter");
    const faults = document.getElementById("yaml-faults");
    const state = document.getElementById("yaml-state");

    function tell(problems, show) {
      const bad = new Set(problems.map((problem) => problem.line));
      gutter.replaceChildren(...text.value.split("\n").map((_, at) => {
        const line = document.createElement("b");
        line.textContent = at + 1;
        if (bad.has(at + 1)) line.className = "bad";
        return line;
      }));
      gutter.scrollTop = text.scrollTop;
      faults.replaceChildren(...problems.map((problem) => {
        const item = document.createElement("li");
        const jump = document.createElement("button");
        jump.type = "button";
        jump.textContent = `${problem.line ? `Line ${problem.line}: ` : ""}${problem.where}: expected ${problem.expected}, found ${problem.found}`;
        jump.addEventListener("click", () => show(problem));
        item.append(jump);
        return item;
      }));
      text.setAttribute("aria-invalid", problems.length ? "true" : "false");
      state.textContent = problems.length ? `${problems.length} ${problems.length === 1 ? "fault" : "faults"}` : "valid";
    }

    function select(number) {
      const lines = text.value.split("\n");
      const before = lines.slice(0, number - 1).reduce((length, line) => length + line.length + 1, 0);
      text.focus();
      text.setSelectionRange(before, before + lines[number - 1].length);
    }

    text.addEventListener("scroll", () => { gutter.scrollTop = text.scrollTop; });
    return { gutter, state, tell, select };
  };
}
