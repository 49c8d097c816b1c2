import { basename, join } from 'node:path';
import type { RunUnasked } from '../contract/agent.ts';
import type { CustomCommand } from '../contract/extensions.ts';
import {
  type ExtensionPlace,
  listMarkdown,
  readExtensionFile,
  withPluginFolder,
} from './extension-files.ts';
import { lineOf, parseMarkdownFile } from './front-matter.ts';

const maxDescriptionLength = 200;
const maxHintLength = 60;

/**
 * Finds the commands of a place: the Markdown files below `commands`. A command has the name of its
 * file. Front matter that would widen permissions or change the model is ignored, with a message.
 */
export async function findCustomCommands(
  place: ExtensionPlace,
  warn: (problem: string) => void,
): Promise<readonly CustomCommand[]> {
  const { origin, plugin } = place;
  const folders = plugin?.commands ?? [join(place.folder, 'commands')];
  const paths = await listMarkdown(folders, origin);
  const found: CustomCommand[] = [];
  const ignored: IgnoredFields[] = [];
  for (const path of paths) {
    const content = await readExtensionFile(path, place, warn);
    if (content === undefined) continue;
    const name = basename(path, '.md').toLowerCase();
    if (!/^[a-z0-9][a-z0-9_.:-]*$/.test(name)) {
      warn(`${path} is not a command: its name has characters that a command cannot have.`);
      continue;
    }
    const { fields, text: written } = await parseMarkdownFile(content, place.yaml);
    const text = withPluginFolder(written, plugin);
    const [firstLine = ''] = text.replace(/^#+\s*/, '').split('\n');
    const description =
      lineOf(fields['description'], maxDescriptionLength) ??
      lineOf(firstLine, maxDescriptionLength) ??
      'A command without a description';
    if (text !== '')
      found.push({
        ...{ name, description, origin, path, text, plugin: plugin?.name },
        ...hintOf(fields, text),
      });
    else warn(`${path} is not a command: it is empty.`);
    const unused = ['allowed-tools', 'model', 'hooks'].filter(
      (field) => fields[field] !== undefined,
    );
    if (unused.length > 0) ignored.push({ path, unused });
  }
  warnOfIgnored(ignored, warn);
  return found;
}

/** A command with fields that have no effect. */
interface IgnoredFields {
  readonly path: string;
  readonly unused: readonly string[];
}

/** A plugin can have many commands, so they share one message. */
function warnOfIgnored(ignored: readonly IgnoredFields[], warn: (problem: string) => void): void {
  const [first, ...others] = ignored;
  if (first === undefined) return;
  const fields = [...new Set(ignored.flatMap(({ unused }) => unused))];
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  warn(
    `${first.path}${more}: ${fields.join(' and ')} ${fields.length === 1 ? 'has' : 'have'} no effect. Your permissions and your model apply.`,
  );
}

function hintOf(
  fields: Readonly<Record<string, unknown>>,
  text: string,
): Pick<CustomCommand, 'argumentHint'> {
  const given = fields['argument-hint'];
  // YAML reads `[file]` as a list.
  const hint = Array.isArray(given) ? `[${given.join(', ')}]` : lineOf(given, maxHintLength);
  if (hint !== undefined) return { argumentHint: hint };
  return placeholders.test(text) ? { argumentHint: '[arguments]' } : {};
}

const placeholders = /\$ARGUMENTS(?:\[\d+\])?|\$\d/;
const maxArguments = 100;

/** Maximum number of shell blocks of a command that run. */
const maxBlocks = 20;

/**
 * Returns the text of a command with its arguments. `$ARGUMENTS` is the whole text, `$1` is the first
 * word. A command without placeholders gets the arguments at its end. A shell block (`` !`command` ``) is replaced
 * by its output if `run` returns one, that is if the rules allow the command without a question. The model can run
 * the other blocks as a call of a tool, so the permissions apply. Arguments never create a block.
 */
export async function expandCommand(
  { text }: CustomCommand,
  argument: string,
  run?: RunUnasked,
): Promise<string> {
  const pieces: string[] = [];
  let end = 0;
  let blocksLeft = maxBlocks;
  let hasLeft = false;
  for (const block of text.matchAll(shellBlock)) {
    const [whole, space = '', inline, fenced] = block;
    const command = fillPlaceholders(inline ?? fenced ?? '', argument).trim();
    const isRun = run !== undefined && blocksLeft-- > 0;
    const output = isRun ? await run('bash', { command, timeout_ms: 10_000 }) : undefined;
    hasLeft ||= output === undefined;
    pieces.push(fillPlaceholders(text.slice(end, block.index), argument));
    pieces.push(
      output === undefined ? fillPlaceholders(whole, argument) : `${space}${output.trimEnd()}`,
    );
    end = block.index + whole.length;
  }
  const filled = [...pieces, fillPlaceholders(text.slice(end), argument)].join('');
  const hasPlace = placeholders.test(text);
  const body = hasPlace || argument === '' ? filled : `${filled}\n\nARGUMENTS: ${argument}`;
  return hasLeft ? `${body}\n\n${shellNote}` : body;
}

/** Matches `` !`command` `` after a space or at the start of a line, and a fenced block that starts with `` ```! ``. */
const shellBlock = /(^|[\s(])!`([^`\n]+)`|^```!\s*\n([\s\S]*?)\n```/gm;

function fillPlaceholders(text: string, argument: string): string {
  const words = splitArguments(argument);
  return text.replace(
    /\$ARGUMENTS(?:\[(\d+)\])?|\$(\d)(?!\d)/g,
    (whole, index?: string, place?: string) => {
      if (index !== undefined) return words[Number(index)] ?? '';
      if (place === undefined) return argument;
      // `$0` is not a placeholder of commands.
      return place === '0' ? whole : (words[Number(place) - 1] ?? '');
    },
  );
}

const shellNote =
  'The commands in !`…` above were not run. Run those whose output you need with the tool bash.';

/** Splits arguments into words. Quotes keep spaces together. */
function splitArguments(argument: string): readonly string[] {
  const words = argument.match(/"[^"]*"|'[^']*'|\S+/g) ?? [];
  return words.slice(0, maxArguments).map((word) => word.replace(/^(["'])(.*)\1$/s, '$2'));
}
