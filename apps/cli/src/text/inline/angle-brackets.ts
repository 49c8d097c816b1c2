import type { InlineToken } from './inline-token.ts';

/** Longer tags are text: looking for their end would take the time of the whole text. */
const maxLength = 512;

const address = /^<([a-zA-Z][a-zA-Z\d+.-]{1,31}:[^\s<>]*)>/;
const mail = /^<([\w.!#$%&'*+/=?^`{|}~-]+@[a-zA-Z\d-]+(?:\.[a-zA-Z\d-]+)*)>/;
const lineBreak = /^<br\s*\/?>/i;
const attribute = /\s+[a-zA-Z_:][\w.:-]*(?:\s*=\s*(?:[^\s"'=<>`]+|'[^']*'|"[^"]*"))?/;
const tag = new RegExp(
  [
    `^<[a-zA-Z][a-zA-Z\\d-]*(?:${attribute.source})*\\s*/?>`,
    '^</[a-zA-Z][a-zA-Z\\d-]*\\s*>',
    '^<!--(?:-?>|[\\s\\S]*?-->)',
    '^<\\?[\\s\\S]*?\\?>',
    '^<![a-zA-Z][^>]*>',
    '^<!\\[CDATA\\[[\\s\\S]*?\\]\\]>',
  ].join('|'),
);

export interface Angled {
  readonly tokens: readonly InlineToken[];
  readonly length: number;
}

/** What begins with `<` and is not just text: an address, or HTML, which is shown as it is. */
export function angledAt(source: string, at: number): Angled | undefined {
  const text = source.slice(at, at + maxLength);
  const linked = linkOf(address, '', text) ?? linkOf(mail, 'mailto:', text);
  if (linked !== undefined) return linked;
  const [found] = tag.exec(text) ?? [];
  if (found === undefined) return undefined;
  const token: InlineToken = lineBreak.test(found)
    ? { type: 'break' }
    : { type: 'html', text: found };
  return { tokens: [token], length: found.length };
}

function linkOf(form: RegExp, scheme: string, source: string): Angled | undefined {
  const [whole, text] = form.exec(source) ?? [];
  if (whole === undefined || text === undefined) return undefined;
  return { tokens: linked(text, `${scheme}${text}`), length: whole.length };
}

export function linked(text: string, to: string): readonly InlineToken[] {
  const mark = { type: 'link', address: to } as const;
  return [
    { type: 'open', mark },
    { type: 'text', text },
    { type: 'close', mark },
  ];
}
