import type { HelpTopic } from './args.ts';
import { type FlagName, type FlagOwner, flagNames, flagOf } from './flags.ts';
import { helpPage } from './help-pages.ts';

/** How it is used, with examples. */
export function helpText(topic?: HelpTopic): string {
  const { usage, about, flagsOf, examples, more } = helpPage(topic);
  const own = flagNames.filter((name) => flagOf(name).of.some((owner) => flagsOf.includes(owner)));
  const blocks = [
    `Usage:\n${usage.map((line) => `  ${line}`).join('\n')}`,
    wrap(about, pageWidth).join('\n'),
    `Examples:\n${examples.map(([command, what]) => `  ${command}\n      ${what}`).join('\n')}`,
    `Flags:\n${own.map((name) => flagLines(name, flagsOf)).join('\n')}`,
    ...(more === undefined ? [] : [more]),
  ];
  return `${blocks.join('\n\n')}\n`;
}

/** A flag as it is typed: `-m, --model <name>`. */
export function flagHead(name: FlagName): string {
  const { short, value } = flagOf(name);
  const head = `--${name}${value === undefined ? '' : ` ${value}`}`;
  return short === undefined ? head : `-${short}, ${head}`;
}

/** What it does, where it belongs to these. */
export function flagHelp(name: FlagName, owners: readonly FlagOwner[]): string {
  const { help, helpOf = {} } = flagOf(name);
  return owners.map((owner) => helpOf[owner]).find((text) => text !== undefined) ?? help;
}

const pageWidth = 80;
const headWidth = 30;

function flagLines(name: FlagName, owners: readonly FlagOwner[]): string {
  const head = flagHead(name);
  const text = wrap(flagHelp(name, owners), pageWidth - headWidth);
  const start = `  ${head.startsWith('--') ? '    ' : ''}${head}`.padEnd(headWidth);
  return `${start}${text.join(`\n${' '.repeat(headWidth)}`)}`;
}

function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (longer.length > width) lines.push(line);
    line = longer.length > width ? word : longer;
  }
  return [...lines, line];
}
