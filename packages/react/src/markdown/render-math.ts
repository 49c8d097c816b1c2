import katex from 'katex';
import 'katex/dist/katex.min.css';
import { isDeeper } from './tree/nesting.ts';

/** The fonts that most formulas use. */
const fonts = ['KaTeX_Main', 'italic 1em KaTeX_Math', 'KaTeX_Size1', 'KaTeX_Size2', 'KaTeX_AMS'];

/** Loads the fonts that most formulas use, so that a formula has its final size from the start. */
export async function loadFonts(): Promise<void> {
  if (typeof document === 'undefined' || document.fonts === undefined) return;
  const names = fonts.map((font) => (font.includes(' ') ? font : `1em ${font}`));
  await Promise.all(names.map((font) => document.fonts.load(font)));
}

/** Returns true if the page has the style sheet of KaTeX, which names its fonts. */
function hasStyles(): boolean {
  if (typeof document === 'undefined' || document.fonts === undefined) return true;
  return [...document.fonts].some(({ family }) => family.includes('KaTeX_Main'));
}

/** Maximum length of a formula. A longer one would block the page. */
const maxLength = 4096;
/** Maximum depth of groups in a formula. The time for a deeper one grows with the square of the depth. */
const maxDepth = 50;

/**
 * Matches commands that define macros. A few macros can expand to a formula of any length, and no limit of
 * KaTeX prevents this.
 */
const definition =
  /\\(?:[gex]?def|(?:future)?let|global|long|(?:re)?newcommand|providecommand|DeclareMathOperator)(?![a-zA-Z])/;

/**
 * Draws a formula into an element, with a version for screen readers. Returns false if the formula
 * is not valid, too long, or defines macros. The formula is untrusted. The option `trust` is off, so commands cannot create
 * links, load images or set classes.
 */
export function renderMath(text: string, place: HTMLElement, isDisplay: boolean): boolean {
  if (text.length > maxLength || isDeeper(text, maxDepth) || definition.test(text)) return false;
  try {
    katex.render(text, place, {
      displayMode: isDisplay,
      // Without the style sheet of KaTeX, browsers draw the MathML themselves.
      output: hasStyles() ? 'htmlAndMathml' : 'mathml',
      throwOnError: true,
      trust: false,
      strict: 'ignore',
      maxExpand: 500,
      // The limit in em. A larger rule or gap could cover other parts of the page.
      maxSize: 20,
    });
    return true;
  } catch {
    place.replaceChildren();
    return false;
  }
}
