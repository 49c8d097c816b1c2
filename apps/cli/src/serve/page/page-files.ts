import type { ServedFile } from '@millrace/server';
import { pageHtml } from './page-html.ts';
import { pageScript } from './page-script.ts';
import { pageStyle } from './page-style.ts';

const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M1 5q3.5-3 7 0t7 0M1 10q3.5-3 7 0t7 0" fill="none" stroke="#36c" stroke-width="2"/></svg>';

/** A plain page that shows tasks as they stream. */
export const pageFiles: readonly ServedFile[] = [
  { path: '/', type: 'text/html', body: pageHtml },
  { path: '/page.js', type: 'text/javascript', body: pageScript },
  { path: '/page.css', type: 'text/css', body: pageStyle },
  { path: '/page.svg', type: 'image/svg+xml', body: icon },
];
