// What the list shows, as the page's address has it: #show=wrong&group=split:noise_40. It can be sent and kept.

/** Write what differs from how the page begins. */
function writeAddress(asked, usual) {
  const other = Object.entries(asked).filter(([name, value]) => value !== usual[name]);
  return other.length ? `#${new URLSearchParams({ show: asked.show, ...Object.fromEntries(other) })}` : "#answers";
}

/** Read what an address asks for; null where it names another place of the page. */
function readAddress(hash, usual) {
  if (!hash.includes("=")) return ["", "#", "#answers"].includes(hash) ? usual : null;
  return { ...usual, ...Object.fromEntries(new URLSearchParams(hash.slice(1))) };
}

/** Choose an option where there is one of this value. */
function choose(select, value) {
  if ([...select.options].some((option) => option.value === value)) select.value = value;
}
