// Before the first paint, so that nothing jumps: there is script, and the form is shown step by step.
document.documentElement.classList.add('scripted');
