import { existsSync, globSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { basename, dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { importCycles } from './import-cycles.ts';

/** The layers of packages, lowest first. A package may import only packages of earlier rows. */
const layers: readonly (readonly string[])[] = [
  ['@millrace/core', '@millrace/markdown'],
  ['@millrace/providers', '@millrace/log'],
  ['@millrace/agent'],
  ['@millrace/tools', '@millrace/server', '@millrace/client'],
  ['@millrace/react', '@millrace/temporal'],
  ['@millrace/openai-agents'],
  ['millrace', '@millrace/cli', '@millrace/web'],
];

/** These packages also run in browsers. */
const withoutNode: readonly string[] = [
  '@millrace/core',
  '@millrace/markdown',
  '@millrace/client',
  '@millrace/react',
];

const limits = {
  /** Limits for the number of lines in a source file. */
  medianLines: 130,
  ninetyFifthLines: 300,
  maxLines: 500,
  /** A file with fewer lines should be part of the file that uses it. */
  minLines: 20,
  filesInFolder: 15,
};

/**
 * Small files that must stay separate. A bundler, a worker or a lazy import loads the file by its
 * path, or many folders share its type.
 */
const smallByNature: readonly string[] = [
  'apps/cli/src/contract/host.ts',
  'apps/cli/src/package-files.ts',
  'apps/cli/src/sessions/sessions-context.ts',
  'apps/web/src/main.tsx',
  'packages/react/src/elements/style-sheet.ts',
  'packages/react/src/style-sheets.d.ts',
  'packages/tools/src/abortable.ts',
];

interface Manifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

const packages = globSync('{packages,apps}/*/package.json').map((path) => ({
  folder: dirname(path),
  manifest: JSON.parse(readFileSync(path, 'utf8')) as Manifest,
}));

/** Folders with installed or generated files. */
const generated = ['**/node_modules/**', '**/dist/**', '**/dist-types/**', '**/bundle/**'];

const isTest = (path: string) =>
  /\.test\.tsx?$/.test(path) || path.includes('/testing/') || path.includes('/e2e/');
const filesIn = (folder: string) =>
  globSync(`${folder}/**/*.{ts,tsx}`, {
    exclude: [...generated, '**/vite.config.ts'],
  });
const allFiles = filesIn('{packages,apps}');
const sources = allFiles.filter((path) => !isTest(path));

const rowOf = (name: string) => layers.findIndex((row) => row.includes(name));

/** Returns the module specifiers that a file imports or re-exports, including type imports. */
function importsOf(path: string): readonly string[] {
  const text = readFileSync(path, 'utf8');
  const form = /(?:\bfrom\s+|\bimport\s*\(?\s*)['"]([^'"\n]+)['"]/g;
  return [...text.matchAll(form)].map(([, name = '']) => name);
}

/** Returns the files of the same package that a file imports. */
function filesImportedBy(path: string): readonly string[] {
  return importsOf(path)
    .filter((target) => target.startsWith('.'))
    .map((target) => normalize(join(dirname(path), target)));
}

describe.each(packages)('$manifest.name', ({ folder, manifest }) => {
  const { name, dependencies = {}, peerDependencies = {} } = manifest;
  const own = filesIn(`${folder}/src`).filter((path) => !isTest(path));
  const imported = own.flatMap((path) => importsOf(path).map((target) => `${path}: ${target}`));

  test('is in the table of layers', () => {
    expect(rowOf(name), 'Add the package to `layers` in this file.').toBeGreaterThanOrEqual(0);
  });

  test('imports only packages of lower layers', () => {
    const known = [...Object.keys({ ...dependencies, ...peerDependencies }), ...imported]
      .map((entry) => entry.replace(/^.*: /, ''))
      .flatMap((target) => target.match(/^@millrace\/[^/]+/) ?? []);
    const upward = known.filter((target) => rowOf(target) >= rowOf(name));
    expect(upward, 'Move the shared code into a package of a lower layer.').toEqual([]);
  });

  test('has a contract that imports nothing else from the package', () => {
    const contract = `${folder}/src/contract/`;
    const outward = own
      .filter((path) => path.startsWith(contract))
      .flatMap((path) => filesImportedBy(path).map((target) => ({ path, target })))
      .filter(({ target }) => !target.startsWith(contract))
      .map(({ path, target }) => `${path}: ${target}`);
    const mend = 'Move the type into contract/, or the logic out of it.';
    expect(outward, mend).toEqual([]);
  });

  if (withoutNode.includes(name)) {
    test('imports nothing from Node', () => {
      const isBuiltIn = (entry: string) => isBuiltin(entry.replace(/^.*: /, ''));
      expect(imported.filter(isBuiltIn)).toEqual([]);
    });
  }

  if (rowOf(name) === 0) {
    test('has no dependency and imports only its own files', () => {
      expect({ ...dependencies, ...peerDependencies }).toEqual({});
      expect(imported.filter((entry) => !/: \.{1,2}\//.test(entry))).toEqual([]);
    });
  }
});

test('there are no import cycles, type imports included', () => {
  const files = allFiles.filter((path) => !/\.test\.tsx?$/.test(path));
  const graph = new Map(files.map((path) => [path, filesImportedBy(path)]));
  const mend = 'Move what both files need into a third one, for types usually in contract/.';
  expect(importCycles(graph), mend).toEqual([]);
});

describe('source files', () => {
  const sizes = sources
    .map((path) => ({ path, lines: readFileSync(path, 'utf8').split('\n').length - 1 }))
    .sort((a, b) => a.lines - b.lines);
  const linesAt = (share: number) => sizes[Math.floor((sizes.length - 1) * share)]?.lines;

  test('are whole ideas: neither fragments nor collections', () => {
    expect(linesAt(0.5)).toBeLessThanOrEqual(limits.medianLines);
    expect(linesAt(0.95)).toBeLessThanOrEqual(limits.ninetyFifthLines);
    const long = sizes.filter(({ lines }) => lines > limits.maxLines);
    expect(long, 'Find the second idea in the file and give it a file of its own.').toEqual([]);
  });

  test('are not fragments of the file that uses them', () => {
    const tiny = sizes
      .filter(({ lines }) => lines < limits.minLines)
      .map(({ path }) => path)
      .filter((path) => basename(path) !== 'index.ts' && !smallByNature.includes(path));
    const mend = 'Move the content below the exports of the file that uses it.';
    expect(tiny, mend).toEqual([]);
    const gone = smallByNature.filter((path) => !sources.includes(path));
    expect(gone, 'Remove these from `smallByNature`.').toEqual([]);
  });

  test('are in folders that can be read at a glance', () => {
    const counts = Map.groupBy(
      allFiles.filter((path) => !/\.test\.tsx?$/.test(path)),
      dirname,
    );
    const full = [...counts]
      .filter(([, files]) => files.length > limits.filesInFolder)
      .map(([folder, files]) => `${folder}: ${files.length} files`);
    const mend = 'Name the idea that some of the files share, and give it a folder.';
    expect(full, mend).toEqual([]);
  });

  test('have names that say something', () => {
    const empty = /^(utils?|helpers?|common|misc|types)\.tsx?$/;
    const mend = 'Name the file after what it exports.';
    expect(
      sources.filter((path) => empty.test(basename(path))),
      mend,
    ).toEqual([]);
  });
});

test('every public export has a doc comment', () => {
  const missing = packages.flatMap(({ folder }) => publicNamesIn(folder)).filter(isUndocumented);
  const mend = 'Write a JSDoc whose first sentence says what it is or does.';
  expect(
    missing.map(({ file, name }) => `${file}: ${name}`),
    mend,
  ).toEqual([]);
});

interface PublicName {
  readonly file: string;
  readonly name: string;
}

/** Returns the names that the entry files of a package re-export from its own files. */
function publicNamesIn(folder: string): readonly PublicName[] {
  const manifest = readFileSync(`${folder}/package.json`, 'utf8');
  const entries = [...manifest.matchAll(/"@millrace\/source": "\.\/([^"]+)"/g)];
  return entries.flatMap(([, entry = '']) => {
    const path = join(folder, entry);
    const form = /export (?:type )?\{([^}]*)\} from '(\.[^']+)'/g;
    return [...readFileSync(path, 'utf8').matchAll(form)].flatMap(([, names = '', target = '']) =>
      names
        .split(',')
        .map((name) => name.replace(/\btype\b|\bas\b.*$/g, '').trim())
        .filter((name) => name !== '')
        .map((name) => ({ file: normalize(join(dirname(path), target)), name })),
    );
  });
}

/**
 * Returns true if a name has no doc comment. A name that the file only re-exports is documented
 * where it is declared.
 */
function isUndocumented({ file, name }: PublicName): boolean {
  const text = readFileSync(file, 'utf8');
  const declared = `export (?:declare )?(?:abstract )?(?:async )?(?:class|interface|type|const|function\\*?) ${name}\\b`;
  const isDeclared = new RegExp(declared).test(text);
  return isDeclared && !new RegExp(`\\*/\\s*(?://[^\\n]*\\n\\s*)*${declared}`).test(text);
}

test('comments and documents avoid the phrases that readers stumbled over', () => {
  const texts = globSync('{{packages,apps,scripts,examples,bench/src}/**/*.{ts,tsx},**/*.md}', {
    exclude: [...generated, 'scripts/tidy.test.ts'],
  });
  const riddles = /\bunless told\b|\bmay may\b|\b[Aa]nybody who\b|\b[Ww]hoever\b/;
  const found = texts.flatMap((path) =>
    readFileSync(path, 'utf8')
      .split('\n')
      .flatMap((line, index) =>
        riddles.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [],
      ),
  );
  expect(found, 'Name the subject, and write "Default: …" for defaults.').toEqual([]);
});

test('only the launcher of git starts git, because a repository can make git run programs', () => {
  const startsGit = /\b(?:spawn|exec|fork)\w*\(\s*['"`]git\b/;
  const found = sources.filter((path) => startsGit.test(readFileSync(path, 'utf8')));
  expect(found, 'Use runGit of @millrace/tools.').toEqual([]);
});

test('no recursive mkdir, which never returns below /proc', () => {
  const makesFolders = /\bmkdir(?:Sync)?\([^;]*recursive/;
  const found = sources.filter((path) => makesFolders.test(readFileSync(path, 'utf8')));
  expect(found, 'Create the folders one by one, as makeFolder of the command does.').toEqual([]);
});

test('no committed file names a registry host or a folder of one machine', () => {
  const texts = globSync('**/*.{md,json,ts,tsx,yml}', {
    exclude: [...generated, 'scripts/tidy.test.ts'],
  });
  const foreign = /registry\.npmjs|registry\.yarnpkg|\/(?:home|root|work|Users)\/\w/;
  expect(texts.filter((path) => foreign.test(readFileSync(path, 'utf8')))).toEqual([]);
});

test('documents name only files and folders that exist', () => {
  const named = /`((?:packages|apps|scripts|bench|docs|examples|decisions)\/[\w./@-]+)`/g;
  // The build creates these folders.
  const built = /\/(?:dist|bundle)\//;
  const documents = globSync('{*.md,docs/**/*.md,decisions/*.md,{packages,apps}/*/README.md}', {
    exclude: ['**/node_modules/**'],
  });
  const missing = documents.flatMap((document) =>
    [...readFileSync(document, 'utf8').matchAll(named)]
      .map(([, path = '']) => path)
      .filter((path) => !built.test(path) && !existsSync(path))
      .map((path) => `${document}: ${path}`),
  );
  expect(missing, 'Write the new path into the document.').toEqual([]);
});
