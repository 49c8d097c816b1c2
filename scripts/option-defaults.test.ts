import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';

/**
 * Matches the names of interfaces that users fill in. Other interfaces describe values that
 * Millrace returns.
 */
const isOptions = /(?:Options|Settings|Limits)$|^Compaction$/;

/** Matches the words with which a comment states the default of a property. */
const saysSo =
  /\bDefault:|\b[Ww]ithout (?:it|one|this|them)\b|\b[Ii]f (?:it is )?(?:missing|absent|not given)|\bRequired if\b|\bAs in `/;

interface OptionsInterface {
  readonly file: string;
  readonly name: string;
  readonly body: string;
}

/** Returns the option interfaces that the entry files of a package re-export from its own files. */
function optionsOf(folder: string): readonly OptionsInterface[] {
  const manifest = readFileSync(`${folder}/package.json`, 'utf8');
  const entries = [...manifest.matchAll(/"@millrace\/source": "\.\/([^"]+)"/g)];
  return entries.flatMap(([, entry = '']) => {
    const path = join(folder, entry);
    const form = /export (?:type )?\{([^}]*)\} from '(\.[^']+)'/g;
    return [...readFileSync(path, 'utf8').matchAll(form)].flatMap(([, names = '', target = '']) => {
      const file = normalize(join(dirname(path), target));
      const text = readFileSync(file, 'utf8');
      return names
        .split(',')
        .map((name) => name.replace(/\btype\b|\bas\b.*$/g, '').trim())
        .filter((name) => isOptions.test(name))
        .flatMap((name) => {
          const [, body] =
            new RegExp(`^export interface ${name}\\b[^{]*\\{\\n([\\s\\S]*?)^\\}`, 'm').exec(text) ??
            [];
          return body === undefined ? [] : [{ file, name, body }];
        });
    });
  });
}

/** Returns the optional properties whose comment does not state the default. */
function silentProperties(body: string): readonly string[] {
  const property = /^ {2}(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n {2})?(?:readonly )?(\w+)\?[:(]/gm;
  return [...body.matchAll(property)]
    .filter(([, comment = '']) => !saysSo.test(comment.replace(/\s*\n\s*\*\s*/g, ' ')))
    .map(([, , name = '']) => name);
}

const interfaces = globSync('packages/*/package.json').flatMap((path) => optionsOf(dirname(path)));

test('each optional property of public options says what happens without it', () => {
  expect(interfaces.length).toBeGreaterThan(50);
  const silent = interfaces.flatMap(({ file, name, body }) =>
    silentProperties(body).map((property) => `${file}: ${name}.${property}`),
  );
  const mend = 'End its comment with "Default: …", or say what happens without it.';
  expect([...new Set(silent)].sort(), mend).toEqual([]);
});

test('a property without a comment or without a default is found', () => {
  const body = `  /** Waits. Default: 5. */
  readonly a?: number;
  /** Waits. */
  readonly b?: number;
  readonly c?: number;
  readonly d: number;
  /**
   * Waits. Without it,
   * nothing happens.
   */
  e?(): void;
`;
  expect(silentProperties(body)).toEqual(['b', 'c']);
});
