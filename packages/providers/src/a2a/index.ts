export { type A2aOptions, a2a } from './provider.ts';
