import type { Item, Part } from '@millrace/core';

const names: { readonly [Kind in Item['kind']]: string } = {
  system: 'Instructions',
  developer: 'Instructions',
  user: 'You',
  assistant: 'Assistant',
  tool: 'Tools',
  context: 'Summary',
  notification: 'Notice',
};

/** What was said, for people to read and for files: a heading for each who speaks. */
export function transcriptMarkdown(items: readonly Item[]): string {
  return items.map(itemMarkdown).filter(Boolean).join('\n\n').concat('\n');
}

function itemMarkdown({ kind, author, parts, stop, redacted }: Item): string {
  const said = redacted ? ['*(redacted)*'] : parts.map(partMarkdown).filter(Boolean);
  const end = stop === undefined ? undefined : endings[stop.reason];
  const whole = [...said, ...(end === undefined ? [] : [`*(${end})*`])];
  if (whole.length === 0) return '';
  return [`## ${author?.name ?? names[kind]}`, ...whole].join('\n\n');
}

/** Those that are no surprise are not told. */
const endings: Readonly<Partial<Record<string, string>>> = {
  length: 'cut off: as long as the model may write',
  aborted: 'stopped',
  error: 'ended by an error',
  content_filter: 'cut off by the content filter',
  refusal: 'refused',
};

function partMarkdown(part: Part): string {
  switch (part.kind) {
    case 'text':
      return part.text.trimEnd();
    case 'reasoning':
      return part.text === '' ? '' : quoted(part.text.trimEnd());
    case 'tool_call':
      return `**${part.name}**\n\n${fenced(part.arguments || '{}', 'json')}`;
    case 'tool_result': {
      const what = `${part.name}${part.isError ? ' failed' : ''}`;
      const attached = (part.attachments ?? []).map(partMarkdown);
      const text = part.text === '' ? [] : [fenced(part.text.trimEnd())];
      return [`*${what}:*`, ...text, ...attached].join('\n\n');
    }
    case 'structured':
    case 'custom':
      return fenced(JSON.stringify(part.value, undefined, 2), 'json');
    case 'media':
      return `*(${part.mimeType})*`;
    case 'file':
      return `*(file ${part.name}, ${part.mimeType})*`;
  }
}

function quoted(text: string): string {
  return text.replace(/^/gm, '> ');
}

/** With a fence that is longer than any in the text. */
function fenced(text: string, language = ''): string {
  const longest = [...text.matchAll(/`{3,}/g)].reduce(
    (most, [run]) => Math.max(most, run.length),
    2,
  );
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}
