import { decodeEntities, type InlineToken, safeLink } from '@millrace/markdown';

/** A tag on the allow list, with the properties for its element. */
export interface SafeTag {
  readonly name: string;
  readonly kind: 'open' | 'close' | 'void';
  readonly props: Readonly<Record<string, string | number | boolean>>;
}

const inlineNames = new Set(
  'a abbr b cite code del dfn em i img ins kbd mark q s samp small strong sub sup u var wbr'.split(
    ' ',
  ),
);
const blockNames = new Set(
  'blockquote br caption dd details div dl dt h1 h2 h3 h4 h5 h6 hr li ol p pre summary table tbody td tfoot th thead tr ul'.split(
    ' ',
  ),
);
const voidNames = new Set(['br', 'hr', 'img', 'wbr']);

/**
 * Attributes that only change the appearance. They are ignored. A tag with any other unknown
 * attribute is shown as text.
 */
const droppedAttributes = new Set(
  'align border cellpadding cellspacing class height loading rel target valign width'.split(' '),
);

type Read = (value: string) => Readonly<Record<string, string | number | boolean>> | undefined;

const count = (name: string, max: number, min = 1): Read => {
  return (value) => {
    const number = Number(value);
    return Number.isInteger(number) && number >= min && number <= max
      ? { [name]: number }
      : undefined;
  };
};
const align: Read = (value) =>
  /^(?:left|center|right)$/i.test(value) ? { 'data-align': value.toLowerCase() } : {};
const cell = { align, colspan: count('colSpan', 64), rowspan: count('rowSpan', 1000) };

/** The attributes that are allowed for each element. */
const attributes: Readonly<Record<string, Readonly<Record<string, Read>>>> = {
  a: { href: (value) => (safeLink(value) === undefined ? undefined : { address: value }) },
  abbr: { title: (value) => ({ title: value.slice(0, 256) }) },
  details: { open: () => ({ open: true }) },
  img: { src: (value) => ({ address: value }), alt: (value) => ({ alt: value.slice(0, 256) }) },
  ol: { start: count('start', 999_999_999, 0) },
  td: cell,
  th: cell,
};

const tagForm = /^<(\/?)([a-zA-Z][a-zA-Z\d]*)((?:\s[^>]*)?)>$/;
const attributeForm =
  /\s+([a-zA-Z_:][\w.:-]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+)))?|\s*\/?$/gy;

/**
 * Parses a tag. Returns undefined if the element or one of its attributes is not on the allow list.
 * The page shows this tag as text.
 */
function readTag(source: string, isBlock: boolean): SafeTag | undefined {
  const [, slash, given = '', rest = ''] = tagForm.exec(source) ?? [];
  const name = given.toLowerCase();
  if (!inlineNames.has(name) && !(isBlock && blockNames.has(name))) return undefined;
  if (slash === '/')
    return rest.trim() === '' && !voidNames.has(name)
      ? { name, kind: 'close', props: {} }
      : undefined;
  const props = readAttributes(name, rest);
  if (props === undefined) return undefined;
  const needsAddress = name === 'a' || name === 'img';
  if (needsAddress && props['address'] === undefined) return undefined;
  return { name, kind: voidNames.has(name) ? 'void' : 'open', props };
}

function readAttributes(element: string, source: string): SafeTag['props'] | undefined {
  const props: Record<string, string | number | boolean> = {};
  let end = 0;
  for (const match of source.matchAll(attributeForm)) {
    end = match.index + match[0].length;
    const name = match[1]?.toLowerCase();
    if (name === undefined) continue;
    const known = attributes[element];
    const read = known !== undefined && Object.hasOwn(known, name) ? known[name] : undefined;
    if (read === undefined && droppedAttributes.has(name)) continue;
    const found = read?.(decodeEntities(match[2] ?? match[3] ?? match[4] ?? ''));
    if (found === undefined) return undefined;
    Object.assign(props, found);
  }
  return end === source.length ? props : undefined;
}

/** A piece of a text. Pairs of matching tags are elements. */
export type RichToken =
  | Exclude<InlineToken, { readonly type: 'html' }>
  | { readonly type: 'start'; readonly tag: SafeTag }
  | { readonly type: 'void'; readonly tag: SafeTag }
  | { readonly type: 'end' };

/**
 * Maximum number of open elements and marks. The search for an opening tag stops after this many.
 */
const maxOpen = 32;

/**
 * Turns tags of the allow list into elements. The text must contain both tags of an element. The
 * element must not start inside a mark and end outside of it. All other tags become text.
 */
export function pairTags(tokens: readonly InlineToken[]): readonly RichToken[] {
  const out: RichToken[] = [];
  const open: { readonly name: string | undefined; readonly at: number; tag?: SafeTag }[] = [];
  for (const token of tokens) {
    if (token.type !== 'html') {
      if (token.type === 'open') open.push({ name: undefined, at: out.length });
      if (token.type === 'close')
        open.length = Math.max(
          0,
          open.findLastIndex(({ name }) => name === undefined),
        );
      out.push(token);
      continue;
    }
    const tag = readTag(token.text, false);
    if (tag?.kind === 'close') {
      const start = startOf(tag.name, open);
      if (start !== undefined) {
        const { at, tag: started } = open[start] ?? {};
        if (at !== undefined && started !== undefined) out[at] = { type: 'start', tag: started };
        open.length = start;
        out.push({ type: 'end' });
        continue;
      }
    }
    if (tag?.kind === 'open') open.push({ name: tag.name, at: out.length, tag });
    out.push(tag?.kind === 'void' ? { type: 'void', tag } : { type: 'text', text: token.text });
  }
  return out;
}

type OpenElement = { readonly name: string | undefined };

/**
 * Returns the position of the innermost open element with this name. The search stops at a mark.
 */
function startOf(name: string, open: readonly OpenElement[]): number | undefined {
  const last = Math.max(0, open.length - maxOpen);
  for (let at = open.length - 1; at >= last; at--) {
    if (open[at]?.name === undefined) return undefined;
    if (open[at]?.name === name) return at;
  }
  return undefined;
}

/** An element of an HTML block, or a text. */
export type HtmlNode = string | HtmlElement;

interface HtmlElement {
  readonly name: string;
  readonly props: SafeTag['props'];
  readonly children: HtmlNode[];
}

/** The names of the table cells. */
const cellNames = ['td', 'th'];
/**
 * Maps the name of a new tag to the open elements that it closes, because these elements cannot
 * contain it.
 */
const implied: Readonly<Record<string, readonly string[]>> = {
  ...{ li: ['li'], dt: ['dt', 'dd'], dd: ['dt', 'dd'], p: ['p'] },
  ...{ td: cellNames, th: cellNames, tr: [...cellNames, 'tr'] },
  ...{ tbody: [...cellNames, 'tr', 'thead'], tfoot: [...cellNames, 'tr', 'tbody'] },
};

/** The elements in which spaces between tags are ignored. */
const spaceless = new Set('dl ol table tbody tfoot thead tr ul'.split(' '));

/** Parses an HTML block. Returns undefined if it has no tag of the allow list. */
export function readHtml(source: string): readonly HtmlNode[] | undefined {
  const root: HtmlElement = { name: '', props: {}, children: [] };
  const stack: HtmlElement[] = [root];
  const top = () => stack.at(-1) ?? root;
  let isRich = false;
  const addText = (text: string) => {
    const { name, children } = top();
    if (text === '' || (spaceless.has(name) && text.trim() === '')) return;
    const last = children.at(-1);
    if (typeof last === 'string') children[children.length - 1] = last + text;
    else children.push(text);
  };
  for (const piece of source.split(/(<\/?[a-zA-Z](?:"[^"]*"|'[^']*'|[^"'<>])*>)/)) {
    const tag = piece.startsWith('<') ? readTag(piece, true) : undefined;
    if (tag === undefined) {
      addText(decodeEntities(piece));
      continue;
    }
    if (tag.kind === 'close') {
      const at = stack.findLastIndex(({ name }) => name === tag.name);
      if (at > 0) stack.length = at;
      else addText(piece);
      continue;
    }
    if (stack.length > maxOpen) {
      addText(piece);
      continue;
    }
    isRich = true;
    while (implied[tag.name]?.includes(top().name)) stack.pop();
    const element: HtmlElement = { name: tag.name, props: tag.props, children: [] };
    top().children.push(element);
    if (tag.kind === 'open') stack.push(element);
  }
  return isRich ? root.children : undefined;
}
