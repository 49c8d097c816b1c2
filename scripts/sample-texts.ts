// Prints random comments, and random sentences of the documents. A reader then checks whether each
// of them is clear at first reading:
//   npm run sample -- [--seed 1] [--count 30]
import { globSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { seed: { type: 'string', default: '1' }, count: { type: 'string', default: '30' } },
});
const count = Number(values.count);
const random = seededRandom(Number(values.seed));
const exclude = ['**/node_modules/**', '**/dist/**', '**/bundle/**', '**/testing/**'];

const comments = globSync('{packages,apps,scripts,examples}/**/*.{ts,tsx}', { exclude })
  .filter((path) => !/\.test\.tsx?$|\.d\.ts$/.test(path))
  .toSorted()
  .flatMap(commentsIn);
const sentences = globSync('{*.md,docs/**/*.md,decisions/*.md,{packages,apps}/*/README.md}', {
  exclude,
})
  .toSorted()
  .flatMap(sentencesIn);

print('Comments', comments);
print('Sentences', sentences);

function print(title: string, all: readonly string[]): void {
  console.log(`${title}: ${count} of ${all.length}, seed ${values.seed}\n`);
  const left = [...all];
  for (let drawn = 1; drawn <= count && left.length > 0; drawn++) {
    const [text] = left.splice(Math.floor(random() * left.length), 1);
    console.log(`${drawn}. ${text}\n`);
  }
}

/** Returns each comment together with the line of code that follows it. */
function commentsIn(path: string): readonly string[] {
  const text = readFileSync(path, 'utf8');
  const form = /^[ \t]*(\/\*\*[\s\S]*?\*\/|(?:\/\/[^\n]*\n[ \t]*)+)\s*([^\n]*)/gm;
  return [...text.matchAll(form)]
    .filter(([, comment = '']) => !comment.includes('biome-ignore'))
    .map(([, comment = '', code = '']) => `${path}\n   ${plain(comment)}\n   > ${code.trim()}`);
}

function plain(comment: string): string {
  return comment
    .replace(/^\/\*\*|\*\/$/g, '')
    .replace(/^[ \t]*(?:\*|\/\/) ?/gm, '')
    .replace(/\s+/g, ' ')
    .trim();
}

/** Returns the sentences of a document, without code, tables and headings. */
function sentencesIn(path: string): readonly string[] {
  const prose = readFileSync(path, 'utf8')
    .replace(/```[\s\S]*?```/g, '')
    .split('\n')
    .filter((line) => !/^\s*(?:[|#>]|$)/.test(line));
  return prose
    .flatMap((line) => line.split(/(?<=[.!?]) (?=[A-Z`[])/))
    .filter((sentence) => sentence.split(' ').length > 4)
    .map((sentence) => `${path}\n   ${sentence}`);
}

/** Returns a random number generator (mulberry32). The same seed always gives the same numbers. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}
