export { logCases } from './log-cases.ts';
export type { LogCase, LogStore, LogSubject } from './log-subject.ts';
export { checkModel, type ModelStep, requiredOutcomes } from './model/check-model.ts';
export { checkResume, type ResumeOptions } from './model/check-resume.ts';
export type { ModelOptions } from './model/model-world.ts';
export { toScript } from './model/script.ts';
export { ReferenceLog } from './reference/reference-log.ts';
export { ReferenceStore } from './reference/reference-store.ts';
export { TestClock } from './test-clock.ts';
