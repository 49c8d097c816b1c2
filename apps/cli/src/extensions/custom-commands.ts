import { basename, join } from 'node:path';
import type { CustomCommand } from '../contract/extensions.ts';
import { type ExtensionPlace, listFiles, readExtensionFile } from './extension-files.ts';
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
  const { origin } = place;
  const folder = join(place.folder, 'commands');
  const paths = await listFiles(folder, origin, (file) => file.endsWith('.md'));
  const found: CustomCommand[] = [];
  for (const path of paths) {
    const content = await readExtensionFile(path, place, warn);
    if (content === undefined) continue;
    const name = basename(path, '.md').toLowerCase();
    if (!/^[a-z0-9][a-z0-9_.:-]*$/.test(name)) {
      warn(`${path} is not a command: its name has characters that a command cannot have.`);
      continue;
    }
    const { fields, text } = await parseMarkdownFile(content, place.yaml);
    const [firstLine = ''] = text.replace(/^#+\s*/, '').split('\n');
    const description =
      lineOf(fields['description'], maxDescriptionLength) ??
      lineOf(firstLine, maxDescriptionLength) ??
      'A command without a description';
    if (text !== '')
      found.push({ ...{ name, description, origin, path, text }, ...hintOf(fields, text) });
    else warn(`${path} is not a command: it is empty.`);
    const ignored = ['allowed-tools', 'model', 'hooks'].filter(
      (field) => fields[field] !== undefined,
    );
    if (ignored.length > 0)
      warn(
        `${path}: ${ignored.join(' and ')} ${ignored.length === 1 ? 'has' : 'have'} no effect. Your permissions and your model apply.`,
      );
  }
  return found;
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

/**
 * Returns the text of a command with its arguments. `$ARGUMENTS` is the whole text, `$1` is the first
 * word. A command without placeholders gets the arguments at its end. Shell blocks (`` !`command` ``)
 * are never run here. The model can run them as a call of a tool, so the permissions apply.
 */
export function expandCommand({ text }: CustomCommand, argument: string): string {
  const words = splitArguments(argument);
  const filled = text.replace(
    /\$ARGUMENTS(?:\[(\d+)\])?|\$(\d)(?!\d)/g,
    (whole, index?: string, place?: string) => {
      if (index !== undefined) return words[Number(index)] ?? '';
      if (place === undefined) return argument;
      // `$0` is not a placeholder of commands.
      return place === '0' ? whole : (words[Number(place) - 1] ?? '');
    },
  );
  const hasPlace = placeholders.test(text);
  const body = hasPlace || argument === '' ? filled : `${filled}\n\nARGUMENTS: ${argument}`;
  const hasShell = /(?:^|\s)!`[^`\n]+`/.test(text);
  return hasShell ? `${body}\n\n${shellNote}` : body;
}

const shellNote =
  'The commands in !`…` above were not run. Run those whose output you need with the tool bash.';

/** Splits arguments into words. Quotes keep spaces together. */
function splitArguments(argument: string): readonly string[] {
  const words = argument.match(/"[^"]*"|'[^']*'|\S+/g) ?? [];
  return words.slice(0, maxArguments).map((word) => word.replace(/^(["'])(.*)\1$/s, '$2'));
}
