/** The gestures that VS Code ignores at times, by their names in the stories, each with the reason. */

export const REPEATABLE = {};
