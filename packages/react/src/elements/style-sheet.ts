/**
 * The style sheet of the elements. The build replaces this module with a module that contains the style
 * sheets of all components, because a shadow root does not use the style sheets of the page. In the sources
 * it is empty, because only tests and the page use the sources.
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
