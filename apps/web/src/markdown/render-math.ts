import katex from 'katex';
import 'katex/dist/katex.min.css';

/** The fonts of most formulas. */
const fonts = ['KaTeX_Main', 'italic 1em KaTeX_Math', 'KaTeX_Size1', 'KaTeX_Size2', 'KaTeX_AMS'];

/** Loads the fonts of most formulas, so that a formula has its size from the start. */
export async function loadFonts(): Promise<void> {
  if (typeof document === 'undefined' || document.fonts === undefined) return;
  const names = fonts.map((font) => (font.includes(' ') ? font : `1em ${font}`));
  await Promise.all(names.map((font) => document.fonts.load(font)));
}

/** Maximum length of a formula. A longer one would block the page. */
const maxLength = 4096;

/**
 * Draws a formula into an element, for the eyes and for screen readers. Returns false if the formula
 * is not valid. The formula is untrusted: `trust` is off, so commands that create links, load images
 * or set classes are not obeyed.
 */
export function renderMath(text: string, place: HTMLElement, isDisplay: boolean): boolean {
  if (text.length > maxLength) return false;
  try {
    katex.render(text, place, {
      displayMode: isDisplay,
      output: 'htmlAndMathml',
      throwOnError: true,
      trust: false,
      strict: 'ignore',
      maxExpand: 500,
      // In em. A larger rule or gap could cover other parts of the page.
      maxSize: 20,
    });
    return true;
  } catch {
    place.replaceChildren();
    return false;
  }
}
