import { join, relative, resolve, sep } from 'node:path';
import { isInside } from '../config/config-paths.ts';
import { UsageError } from '../contract/errors.ts';
import type { LoadedPlugin } from '../extensions/load-extensions.ts';
import { countOf } from '../print/text-table.ts';
import { revealHidden } from '../text/cells/reveal-hidden.ts';
import { manifestPath } from './plugin-layout.ts';
import type { PluginFile } from './plugin-store.ts';

/** The names that a session opens in a plugin, by the folder that contains them. */
const knownNames: ReadonlyMap<string, readonly string[]> = new Map([
  ['', ['skills', 'commands', 'agents', 'extensions', 'hooks', 'hooks.json', '.claude-plugin']],
  ['hooks', ['hooks.json']],
  ['.claude-plugin', ['plugin.json']],
]);

/** Compares names without the differences that a file system can ignore, and some more. */
const names = new Intl.Collator('en', { sensitivity: 'base' });

/**
 * Throws an error for a name such as `Extensions`. A file system that ignores the letter case opens this folder as
 * `extensions`, and another file system does not.
 */
export function checkSpellings(operand: string, files: readonly PluginFile[]): void {
  for (const { path } of files) {
    const parts = path.split(sep);
    for (const [at, part] of parts.entries()) {
      const known = knownNames.get(parts.slice(0, at).join('/')) ?? [];
      const meant = known.find((one) => one !== part && names.compare(one, part) === 0);
      if (meant !== undefined)
        throw new UsageError(
          `Cannot add the plugin ${operand}: some systems treat its ${shown(part)} as ${meant}. Rename it to ${meant}, or remove it`,
        );
    }
  }
}

/** The paths of the files that a session uses. Their scripts can be elsewhere in the plugin. */
interface UsedFiles {
  /** The files that run programs: extensions, and files with hooks. A manifest can give them any name. */
  readonly code: readonly string[];
  readonly texts: readonly string[];
}

/** Returns the files in the folders of the plugin, and each file that a session found elsewhere. */
export function usedFiles(
  { layout, found }: LoadedPlugin,
  files: readonly PluginFile[],
): UsedFiles {
  const { folder, skills, commands, agents, hooks } = layout;
  const textPlaces = [...skills, ...commands, ...agents];
  const codePlaces = [
    ...[join(folder, 'extensions'), join(folder, manifestPath)],
    ...[...hooks, ...found.hooks].map(({ file }) => file),
    ...found.modules.map(({ path }) => path),
  ];
  const paths = new Set([
    ...files.map(({ path }) => path),
    ...[...found.modules, ...found.skills, ...found.commands, ...found.agents].map(({ path }) =>
      relative(folder, path),
    ),
    ...found.hooks.map(({ file }) => relative(folder, file)),
  ]);
  const within = (places: readonly string[]) => (path: string) =>
    places.some((place) => isInside(resolve(folder, path), place));
  const [isCode, isText] = [within(codePlaces), within(textPlaces)];
  return {
    code: [...paths].filter(isCode),
    texts: [...paths].filter((path) => isText(path) && !isCode(path)),
  };
}

/** Returns the lists of the question about a plugin: its files, the commands of its hooks, and the unused parts. */
export function contentText(loaded: LoadedPlugin, used: UsedFiles): string {
  return `${shownFiles(used)}${shownHooks(loaded)}${shownProblems(loaded)}`;
}

const maxShownTexts = 200;

/** Returns the list of files. It contains all files that run programs, and a part of the other files. */
function shownFiles({ code, texts }: UsedFiles): string {
  return linesOf([...code, ...texts.slice(0, maxShownTexts)], texts.length - maxShownTexts, 'file');
}

/** Returns the list of the commands that the hooks of the plugin run. */
function shownHooks({ found: { hooks } }: LoadedPlugin): string {
  if (hooks.length === 0) return '';
  const lines = hooks.map(({ event, command }) => `${event}: ${command}`);
  return `Its hooks run these commands:\n${linesOf(lines)}`;
}

/** Returns the list of the parts that no session uses, for example hooks in a file that is not JSON. */
function shownProblems({ problems, layout: { folder } }: LoadedPlugin): string {
  if (problems.length === 0) return '';
  const lines = problems.map((one) => one.replaceAll(`${folder}${sep}`, ''));
  const left = lines.length - maxShownTexts;
  return `Some parts are not used:\n${linesOf(lines.slice(0, maxShownTexts), left, 'part')}`;
}

function linesOf(texts: readonly string[], left = 0, what = ''): string {
  const lines = texts.map((text) => `  - ${shown(text)}\n`);
  return [...lines, ...(left > 0 ? [`  - and ${countOf(left, `further ${what}`)}\n`] : [])].join(
    '',
  );
}

/** Returns a text of the plugin in one line, so that the text cannot look like a line of the question. */
export function shown(text: string): string {
  return revealHidden(text).replaceAll('\n', '␊');
}
