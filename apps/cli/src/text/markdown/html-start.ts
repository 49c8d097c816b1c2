const blockTags =
  'address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|meta|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul';
const attribute = /\s+[a-zA-Z_:][\w.:-]*(?:\s*=\s*(?:[^\s"'=<>`]+|'[^']*'|"[^"]*"))?/;

/** How HTML begins, and the line it ends with; without one, it ends before an empty line. */
const forms: readonly { readonly start: RegExp; readonly end?: RegExp }[] = [
  {
    start: /^<(?:script|pre|style|textarea)(?:\s|>|$)/i,
    end: /<\/(?:script|pre|style|textarea)>/i,
  },
  { start: /^<!--/, end: /-->/ },
  { start: /^<\?/, end: /\?>/ },
  { start: /^<![a-zA-Z]/, end: />/ },
  { start: /^<!\[CDATA\[/, end: /\]\]>/ },
  { start: new RegExp(`^</?(?:${blockTags})(?:\\s|/?>|$)`, 'i') },
];

/** Any tag that has a line for itself. */
const lonelyTag = new RegExp(
  `^(?:<[a-zA-Z][a-zA-Z\\d-]*(?:${attribute.source})*\\s*/?>|</[a-zA-Z][a-zA-Z\\d-]*\\s*>)\\s*$`,
);

export interface HtmlStart {
  readonly end: RegExp | undefined;
  /** Whether it can follow on a paragraph without an empty line. */
  readonly interrupts: boolean;
}

export function htmlStart(line: string): HtmlStart | undefined {
  const text = line.trimStart();
  if (!text.startsWith('<')) return undefined;
  const form = forms.find(({ start }) => start.test(text));
  if (form !== undefined) return { end: form.end, interrupts: true };
  return lonelyTag.test(text) ? { end: undefined, interrupts: false } : undefined;
}
