import katex from 'katex';
import 'katex/dist/katex.min.css';

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
