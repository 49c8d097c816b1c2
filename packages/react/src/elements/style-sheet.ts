/**
 * The style sheet of the elements. The build replaces this module with one that contains the style
 * sheets of all components, because a shadow root does not use those of the page. It is empty in the
 * sources, which are for tests and for the page.
 */
const styleSheet: string = '';

let sheet: CSSStyleSheet | undefined;

/** Adds the style sheet to a shadow root. All elements of a page share one object. */
export function addStyles(root: ShadowRoot): void {
  if (styleSheet === '') return;
  if (sheet === undefined) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(styleSheet);
  }
  root.adoptedStyleSheets = [sheet];
}
