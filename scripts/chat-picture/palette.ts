/**
 * Colors that are readable on the background of the picture. They do not depend on the background
 * of the page.
 */
export const palette = {
  background: '#161b22',
  frame: '#30363d',
  title: '#8b949e',
  text: '#e6edf3',
} as const;

const basic = [
  ...['#6e7681', '#ff7b72', '#3fb950', '#d29922', '#58a6ff', '#bc8cff', '#39c5cf', '#b1bac4'],
  ...['#8b949e', '#ffa198', '#56d364', '#e3b341', '#79c0ff', '#d2a8ff', '#56d4dd', '#ffffff'],
];
/** The levels of the terminal's 6 × 6 × 6 color cube. */
const steps = [0, 95, 135, 175, 215, 255];

/**
 * Returns the color of an SGR code, such as `31`, `38;5;208` or `48;2;1;2;3`. Returns undefined for
 * other codes.
 */
export function colorOf(code: string): string | undefined {
  const [first = 0, kind, ...rest] = code.split(/[;:]/).map(Number);
  if (first === 38 || first === 48) {
    if (kind === 2) return hex(rest.slice(-3));
    return indexed(rest[0] ?? 0);
  }
  if ((first >= 30 && first <= 37) || (first >= 40 && first <= 47)) return basic[first % 10];
  if ((first >= 90 && first <= 97) || (first >= 100 && first <= 107))
    return basic[(first % 10) + 8];
  return undefined;
}

function indexed(index: number): string {
  if (index < 16) return basic[index] ?? palette.text;
  if (index >= 232) return hex(Array.from({ length: 3 }, () => 8 + (index - 232) * 10));
  const cubeIndex = index - 16;
  return hex(
    [Math.floor(cubeIndex / 36), Math.floor(cubeIndex / 6) % 6, cubeIndex % 6].map(
      (one) => steps[one] ?? 0,
    ),
  );
}

function hex(parts: readonly number[]): string {
  return `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}
