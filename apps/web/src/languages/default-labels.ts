// The labels before the page has loaded a language, for tests. The bundler replaces this module with an
// empty one, so that a browser loads only the chosen language.
export { english as defaultLabels } from './en.ts';
