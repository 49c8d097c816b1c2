'use client';

export { MillraceInspectorElement, MillraceSessionElement } from './define-elements.tsx';
