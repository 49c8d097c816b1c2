// The labels of applications that give none. The page of the server always gives labels, and its bundler
// replaces this module with an empty one, so that a browser loads only the chosen language.
export { english as defaultLabels } from './en.ts';
