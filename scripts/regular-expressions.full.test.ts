import { existsSync, globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, test as testCase } from 'vitest';
import { patientMs } from '../packages/core/src/testing/runs.ts';
import { isRequirementMissing } from '../packages/log/src/testing/external-programs.ts';

// The checker and the parser are large, so they are installed beside the other runtimes.
const tools = new URL('runtimes/node_modules/', import.meta.url);
const isInstalled = existsSync(new URL('recheck/package.json', tools));
const missing =
  'The checker of regular expressions is not installed, and this test needs it: npm run test:setup';
const test = isRequirementMissing(isInstalled, missing) ? testCase.skip : testCase;
const load = createRequire(tools);

interface Checker {
  check(
    source: string,
    flags: string,
    options: { readonly timeout: number },
  ): Promise<{ readonly status: 'safe' | 'vulnerable' | 'unknown' }>;
}

interface Parser {
  parseSync(file: string, code: string): { readonly program: unknown };
}

const root = join(import.meta.dirname, '..');

const short = 'The text has a maximum length before it is compared.';
const own = 'The text comes from this program or from its user.';
const bounded = 'The number of characters between the words is limited.';

/** Regular expressions that the checker does not accept, and why they cannot block the program. */
const accepted: Readonly<Record<string, string>> = {
  '/<(?:!doctype|html|head|body|title|h1|p|div)\\b[^>]*>/i': short,
  '/<(script|style)\\b[^>]*>[\\s\\S]*?<\\/\\1>/gi': short,
  '/<[^>]*>/g': short,
  '/\\[[^\\]]*\\]/g': short,
  '/^".*\\\\.*"$/': 'Git prints one path on each line, and a path has at most 4,096 bytes.',
  '/^\\s+at .*?(file:\\/\\/[^\\s)]+|\\/[^\\s)]+|[A-Z]:\\\\[^\\s)]+):(\\d+):\\d+\\)?$/': own,
  '/^(?:\\p{RGI_Emoji}|[\\u1100-\\u11ff\\ua960-\\ua97c\\ud7b0-\\ud7fb]+|.)$/sv':
    'The checker does not know the flag v. The expression has no two ways to match a text.',
  '/ +$/': 'Long runs of spaces are replaced before.',
  '/^.* \\[(.*)\\] step (\\d+)\\.(\\d+)$/s': own,
  '/^[ \\t]+|[ \\t]+$/g': short,
  '/^ {0,3}\\|? *:?-+:? *(?:\\| *:?-+:? *)*\\|? *$/': short,
  '/\\s+[a-zA-Z_:][\\w.:-]*(?:\\s*=\\s*(?:[^\\s"\'=<>`]+|\'[^\']*\'|"[^"]*"))?/': short,
  '/_call.*$/': own,
  '/too many (?:input )?tokens|token (?:count|limit).{0,40}exceed|exceed.{0,40}token limit/i':
    bounded,
  '/reduce the length of the (?:messages|prompt|input)|tokens`?.{0,40}must be <=/i': bounded,
  '/signature.{0,60}(?:invalid|missing|required|block)|(?:invalid|missing).{0,20}signature|thought[_ ]?signature/i':
    bounded,
  '/tool_(?:use|result|call_id)s?.{0,80}(?:without|missing|must|did not have|corresponding)/i':
    bounded,
  '/invalid_encrypted_content|encrypted content.{0,60}(?:could not|invalid)/i': bounded,
  '/items are not persisted|item with id .{0,120} not found/i': bounded,
  '/\\bfile_?(?:id|uri|data)\\b|\\binput_file\\b|\\bsource\\b.{0,200}\\bfile\\b/i': bounded,
  '/(\\d+(?:\\.\\d+)?)\\s*(milli|ms|d|h|m|s)/g': short,
  '/\\.?0+$/': own,
  '/0+$/': own,
  '/\\..*$/': own,
  '/^-+|-+$/g': own,
  '/-(?:\\d[\\d.-]*|latest)$/': own,
  '/"(?:[^"\\\\]|\\\\.)*"(\\s*:)?|-?\\d[\\d.eE+-]*/g':
    'The text is valid JSON, so that each quotation mark has a partner.',
  '/<script>(.*?)<\\/script>/gs': own,
  '/^[\\w.*?~-]*[a-z0-9][\\w.*?~-]*$/': own,
  '/:5efe:[^:]*:?[^:]*$/i': short,
  '/(?<=.)\\.[^.]*$/': short,
  '/<meta[^>]{0,200}charset\\s*=\\s*["\']?([\\w-]+)/i': bounded,
  '/<title\\b[^>]{0,200}>/i': bounded,
  '/(?<!\\\\) +$/': short,
  '/^\\s*<details(\\s+open(?:="")?)?\\s*>\\s*(?:<summary>([\\s\\S]{0,2000}?)<\\/summary>)?\\s*$/i':
    short,
  '/^(?:@@ -\\d[^\\n]* @@|--- [^\\n]+\\n\\+\\+\\+ |diff --git )/m':
    'The expression starts only at the start of a line, and reads only this line.',
};

/** Returns the regular expressions of a source file, with their lines. */
function expressionsIn(file: string): readonly (readonly [expression: string, place: string])[] {
  const code = readFileSync(join(root, file), 'utf8');
  const found: (readonly [string, string])[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const { regex, start } = node as { regex?: { pattern: string; flags: string }; start?: number };
    if (regex !== undefined)
      found.push([
        `/${regex.pattern}/${regex.flags}`,
        `${file}:${code.slice(0, start).split('\n').length}`,
      ]);
    else for (const child of Object.values(node)) visit(child);
  };
  const { parseSync }: Parser = load('oxc-parser');
  visit(parseSync(file, code).program);
  return found;
}

/** Returns true if the expression needs linear time for all texts. */
async function isLinear(expression: string): Promise<boolean> {
  const end = expression.lastIndexOf('/');
  const flags = expression.slice(end + 1).replace('v', 'u');
  const options = { timeout: patientMs(8000) };
  const { check }: Checker = load('recheck');
  return (await check(expression.slice(1, end), flags, options)).status === 'safe';
}

test('no text can make a regular expression slow', async () => {
  const files = globSync(['{packages,apps}/*/src/**/*.{ts,tsx}', 'apps/web/frames/*.js'], {
    cwd: root,
  }).filter((file) => !/\.test\.|\/testing\/|\/e2e\//.test(file));
  const places = new Map<string, string>();
  for (const file of files)
    for (const [expression, place] of expressionsIn(file))
      places.set(expression, places.get(expression) ?? place);
  expect(places.size).toBeGreaterThan(500);
  const slow: string[] = [];
  for (const [expression, place] of places) {
    if (expression in accepted) continue;
    if (!(await isLinear(expression))) slow.push(`${place}: ${expression}`);
  }
  expect(
    slow,
    'Change the expression so that a text has only one way to match, for example with (?<!x)x+$, or limit the length of the text and list the expression with the reason.',
  ).toEqual([]);
  const unused = Object.keys(accepted).filter((expression) => !places.has(expression));
  expect(unused, 'Remove expressions from the list that the code no longer has.').toEqual([]);
});
