/**
 * Returns style sheets that apply only inside of elements with a selector. Names of animations get a
 * prefix, because they are shared by the whole page. Rules for `:root` and for the selector itself apply
 * to the element.
 */
export function scopedStyles(text: string, selector: string): string {
  const rules = topLevelRules(text.replaceAll(/\/\*[\s\S]*?\*\//g, ''));
  const isShared = (rule: string) => /^@(?:-\w+-)?(?:keyframes|font-face|property)\b/.test(rule);
  const names = rules.flatMap((rule) => /^@(?:-\w+-)?keyframes\s+([\w-]+)/.exec(rule)?.[1] ?? []);
  const shared = rules.filter(isShared).map((rule) => withPrefix(rule, names));
  const own = rules
    .filter((rule) => !isShared(rule))
    .map((rule) => withPrefix(rule, names))
    .map((rule) => rule.replaceAll(':root', '&').replaceAll(/\.millrace(?![\w-])/g, '&'));
  return `${selector} {\n${own.join('\n')}\n}\n${shared.join('\n')}\n`;
}

const prefix = 'millrace-';

/** Adds a prefix to the names of animations, where they are defined and where they are used. */
function withPrefix(rule: string, names: readonly string[]): string {
  if (names.length === 0) return rule;
  const name = new RegExp(`(?<![\\w-])(${names.join('|')})(?![\\w-])`, 'g');
  return rule
    .replace(/^(@(?:-\w+-)?keyframes\s+)/, `$1${prefix}`)
    .replaceAll(/animation(?:-name)?:[^;}]*/g, (value) => value.replaceAll(name, `${prefix}$1`));
}

/** Splits a style sheet into its rules. Strings can contain braces. */
function topLevelRules(text: string): readonly string[] {
  const rules: string[] = [];
  let depth = 0;
  let start = 0;
  for (const { 0: found, index } of text.matchAll(/"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[{};]/g)) {
    if (found === '{') depth += 1;
    if (found === '}') depth -= 1;
    if (depth > 0 || (found !== '}' && found !== ';')) continue;
    rules.push(text.slice(start, index + 1).trim());
    start = index + 1;
  }
  if (depth !== 0 || text.slice(start).trim() !== '')
    throw new Error('The style sheet has a rule that does not end. Check its braces');
  return rules;
}
