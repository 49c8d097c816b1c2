// The code for content that most texts do not have. The page loads this module only when a text
// needs it.
export { previewOf } from './code-preview.tsx';
export { HtmlView, SafeElement } from './html-view.tsx';
export { PictureView } from './picture-view.tsx';
export { pairTags } from './safe-html.ts';
